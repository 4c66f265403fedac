"""ArcFace, with a graph whose answer can be computed by hand."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from facefusion.core.errors import ModelError
from facefusion.faces.recognise.arcface import ArcFace
from facefusion.faces.recognise.families import FACE_RECOGNISERS
from facefusion.vision.geometry import FACE_TEMPLATES
from tests.faces.fakes import ArrayPicture
from tests.faces.stage import card
from tests.toys.faces import PROJECTION, arcface, fairface
from tests.toys.pooled import Toys

TEMPLATE = FACE_TEMPLATES["arcface_112_v2"] * 112


@pytest.fixture
def toys(tmp_path):
    with Toys(tmp_path) as toys:
        yield toys


def scene(scale, angle, x, y):
    """A frame that shows the given crop so large, turned and moved, and the five points of its face."""
    crop = cv2.resize(np.random.default_rng(2).integers(0, 256, (7, 7, 3), np.uint8), (112, 112))
    cosine, sine = scale * np.cos(angle), scale * np.sin(angle)
    to_frame = np.array([[cosine, -sine, x], [sine, cosine, y]])
    frame = cv2.warpAffine(crop, to_frame, (400, 400), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
    return crop, ArrayPicture(frame), (TEMPLATE @ to_frame[:, :2].T + to_frame[:, 2]).astype(np.float32)


def expected(crop):
    """The graph's answer for a crop, from numpy alone."""
    red_green_blue = crop[..., ::-1].astype(np.float64) / 127.5 - 1
    patches = red_green_blue.reshape(8, 14, 8, 14, 3).mean(axis=(1, 3))
    return patches.transpose(2, 0, 1).reshape(-1) @ PROJECTION


@pytest.mark.parametrize(("scale", "angle", "x", "y"), [(1, 0, 50, 60), (2.5, 0.3, 100, 30), (1.7, -2.0, 120, 300)])
def test_the_crop_reaches_the_graph_and_its_numbers_come_back(toys, scale, angle, x, y):
    crop, picture, points = scene(scale, angle, x, y)
    reading = ArcFace(card("arcface"), toys.run(arcface())).read(picture, points)
    assert reading.raw.shape == (512,)
    assert reading.raw.dtype == np.float32
    # A fifth of a level on average, over some 14 by weight.
    np.testing.assert_allclose(reading.raw, expected(crop), atol=0.02 if scale == 1 else 0.2)
    np.testing.assert_allclose(reading.unit, reading.raw / np.linalg.norm(reading.raw.astype(np.float64)), atol=1e-6)


@pytest.mark.parametrize(("batch", "runs"), [(1, [1] * 6), ("n", [4, 2])])
def test_several_faces_of_several_pictures_go_in_runs_of_bounded_size(toys, batch, runs):
    scenes = [scene(1 + number / 4, 0.2 * number, 50, 60)[1:] for number in range(3)]
    faces = [(scenes[number][0], scenes[number][1] + 6 * number) for number in (0, 1, 2, 2, 1, 0)]
    graph = toys.run(arcface(batch=batch))
    recogniser = ArcFace(card("arcface"), graph)
    together = recogniser.read_each(faces)
    assert [run["input"][0] for run in graph.runs] == runs
    for reading, (picture, points) in zip(together, faces, strict=True):
        alone = recogniser.read(picture, points)
        np.testing.assert_allclose(reading.raw, alone.raw, atol=1e-5)
        np.testing.assert_allclose(reading.unit, alone.unit, atol=1e-6)
    assert np.abs(together[0].raw - together[1].raw).max() > 0.1
    assert recogniser.read_each([]) == []


@pytest.mark.parametrize("options", [{"batch": "batch"}, {"half": True}], ids=str)
def test_open_batches_and_half_precision_give_the_same(toys, options):
    _, picture, points = scene(1, 0, 50, 60)
    plain = ArcFace(card("arcface"), toys.run(arcface())).read(picture, points)
    other = ArcFace(card("arcface"), toys.run(arcface(**options))).read(picture, points)
    np.testing.assert_allclose(other.raw, plain.raw, atol=0.02)
    assert other.raw.dtype == np.float32


def test_selection_takes_the_identity_at_length_one(toys):
    _, picture, points = scene(1, 0, 50, 60)
    recogniser = FACE_RECOGNISERS["arcface"](card("arcface"), toys.run(arcface()))
    embedding = recogniser.embed(picture, points)
    assert np.linalg.norm(embedding) == pytest.approx(1.0, abs=1e-6)


def test_a_graph_of_another_family_is_refused(toys):
    with pytest.raises(ModelError) as refused:
        ArcFace(card("arcface"), toys.run(fairface()))
    assert str(refused.value).startswith(
        "arcface: the graph does not fit its family: expected the input input as 1 x 3 x 112 x 112, "
        "found 1 x 3 x 224 x 224 of type float32."
    )
