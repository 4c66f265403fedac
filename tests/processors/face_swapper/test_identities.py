"""What networks are told of the person: each family's source input, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from facefusion.core.errors import FaceFusionError
from facefusion.core.values import Size, Tensor
from facefusion.faces.recognise.base import IdentityReading
from facefusion.observability.events import Notice
from facefusion.processors.base import Scene
from facefusion.processors.face_swapper.families.identity import mean_identity
from facefusion.processors.face_swapper.processor import FAMILIES, KIND
from facefusion.vision.geometry import fit_template
from facefusion.vision.picture import BgrPicture
from tests.processors.face_swapper.toy_shop import (
    BIAS,
    CONVERSION,
    CONVERTED,
    MATRIX,
    WEIGHTS,
    ToyShop,
    source,
    swap,
)
from tests.processors.fakes import RecordingSink
from tests.toys.scenes import face, smooth

PIXELS = np.rint(smooth(seed=20)).astype(np.uint8)
TARGETS = (face(90, 110, 90, angle=5), face(230, 130, 90))


def raw(pixels, points):
    """What the toy recogniser says of a face."""
    crop = BgrPicture(pixels.copy()).warp(fit_template(points, "arcface_112_v2", 112), Size(112, 112))
    colour = crop[..., ::-1].mean(axis=(0, 1)) / 127.5 - 1
    return colour @ WEIGHTS.astype(float) + BIAS


def length_one(vector):
    return vector / np.linalg.norm(vector)


def code(family, identities):
    """What a family makes of raw identities of one person."""
    mean = np.mean(identities, axis=0)
    if family == "inswapper":
        return mean @ MATRIX.astype(float) / np.linalg.norm(mean)
    if family == "hyperswap":
        return length_one(np.mean([length_one(one) for one in identities], axis=0))
    converted = mean @ CONVERSION.astype(float)
    return converted if family == "ghost" else length_one(converted)


@pytest.mark.parametrize("family", ["inswapper", "hyperswap", *CONVERTED])
@pytest.mark.parametrize("weight", [0.0, 0.5, 0.8, 1.0])
def test_the_identity_is_the_source_s_mixed_with_the_target_s_in_the_network_s_own_terms(tmp_path, family, weight):
    sources = [source(seed) for seed in (5, 6, 7)]
    with ToyShop(tmp_path, family) as shop:
        swap(shop.swapper(*sources, weight=weight), BgrPicture(PIXELS.copy()), TARGETS)
        given = [run["source"] for run in shop.given("toy")]
        recognised = len(shop.given("eye"))
    known = code(family, [raw(one.picture.to_bgr(), one.face.landmarks5) for one in sources])
    share = 0.35 - 0.7 * weight
    for got, target in zip(given, TARGETS, strict=True):
        expected = (1 - share) * known + share * code(family, [raw(PIXELS, target.landmarks5)])
        assert got.shape == (1, 512)
        np.testing.assert_allclose(got[0], expected, rtol=2e-3, atol=2e-4 * np.abs(expected).max())
    # Recognising the target costs more than anything else: it is left out where nothing comes of it.
    assert recognised == (3 if weight == 0.5 else 5)


def test_targets_are_recognised_as_they_were_before_any_was_swapped(tmp_path):
    near = (face(130, 120, 110), face(190, 124, 110))
    with ToyShop(tmp_path, "hyperswap", gain=(0, 0, 0)) as shop:
        swap(shop.swapper(weight=0.0), BgrPicture(PIXELS.copy()), near)
        given = shop.given("toy")[1]["source"][0]
    one = source()
    known = code("hyperswap", [raw(one.picture.to_bgr(), one.face.landmarks5)])
    expected = 0.65 * known + 0.35 * length_one(raw(PIXELS, near[1].landmarks5))
    np.testing.assert_allclose(given, expected, rtol=2e-3, atol=1e-4)


def test_each_face_gets_its_own_identity_in_a_shared_run(tmp_path):
    separate: list[Tensor] = []
    together: list[Tensor] = []
    for batch, found in ((1, separate), ("n", together)):
        with ToyShop(tmp_path, "ghost", size=32, batch=batch) as shop:
            swap(shop.swapper(weight=0.2, boost="64x64"), BgrPicture(PIXELS.copy()), TARGETS)
            found += [run["source"] for run in shop.given("toy")]
    assert [len(run) for run in together] == [8]
    np.testing.assert_array_equal(np.concatenate(separate), together[0])
    assert (together[0][:4] == together[0][0]).all()
    assert (together[0][4] != together[0][0]).any()


def test_targets_of_several_frames_are_recognised_together_each_in_its_own(tmp_path):
    frames = [PIXELS, np.roll(PIXELS, 40, axis=0), PIXELS[::-1].copy()]
    faces = [TARGETS, TARGETS[:1], TARGETS]
    told, recognised = [], []
    for batch in (1, "n"):
        with ToyShop(tmp_path, "hyperswap", batch=batch) as shop:
            swapper = shop.swapper(weight=0.0)
            swapper.process(
                [
                    Scene(BgrPicture(pixels.copy()), some, (None,) * len(some))
                    for pixels, some in zip(frames, faces, strict=True)
                ]
            )
            told.append(np.concatenate([run["source"] for run in shop.given("toy")]))
            recognised.append([len(run["input"]) for run in shop.given("eye")])
    assert recognised == [[1] * 6, [1, 4, 1]], "the source, then all targets in runs of bounded size"
    np.testing.assert_allclose(told[0], told[1], atol=1e-5)
    assert len({row.tobytes() for row in told[1]}) == 5


@pytest.mark.parametrize(
    ("family", "template", "side"), [("blendswap", "arcface_112_v2", 112), ("uniface", "ffhq_512", 256)]
)
@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0])
def test_picture_families_get_the_first_source_s_face_whatever_the_weight(tmp_path, family, template, side, weight):
    sources = [source(8, angle=-20), source(9)]
    with ToyShop(tmp_path, family) as shop:
        workshop = shop.workshop(*sources, weight=weight)
        swap(KIND.build(workshop), BgrPicture(PIXELS.copy()), TARGETS[:1])
        (given,) = [run["source"] for run in shop.given("toy")]
        assert shop.given("eye") == []
    said = Notice(f"The model toy knows no weight: face_swapper_weight = {weight} does nothing.")
    assert isinstance(workshop.events, RecordingSink)
    assert workshop.events.events == ([] if weight == 0.5 else [said])
    crop = sources[0].picture.warp(fit_template(sources[0].face.landmarks5, template, side), Size(side, side))
    np.testing.assert_allclose(given, crop[None, :, :, ::-1].transpose(0, 3, 1, 2) / 255.0, atol=1e-6)


def test_dissimilar_photos_do_not_shrink_the_identity_that_is_fed_at_length_one():
    readings = [
        IdentityReading(np.eye(512, dtype=np.float32)[n] * (n + 1), np.eye(512, dtype=np.float32)[n]) for n in (0, 1)
    ]
    mean = mean_identity(readings)
    assert mean.raw[:2].tolist() == [0.5, 1.0]
    assert mean.unit[:2] == pytest.approx([np.sqrt(0.5)] * 2)


@pytest.mark.parametrize("family", ["hyperswap", "uniface"])
def test_no_source_is_an_error_not_a_swap(tmp_path, family):
    with ToyShop(tmp_path, family) as shop, pytest.raises(FaceFusionError) as refused:
        unprepared = FAMILIES[family](shop.workshop())
        unprepared.swap([Scene(BgrPicture(PIXELS.copy()), TARGETS, (None, None))])
    assert str(refused.value) == "the face swapper has no source face yet. Call prepare() first."
