"""YOLO face, with graphs that find a planted square."""

from __future__ import annotations

import numpy as np
import pytest

from facefusion.core.errors import ModelError
from facefusion.faces.detect.yolo_face import YoloFace, decode
from tests.faces.planted import SCENES, check_planted
from tests.faces.stage import card
from tests.toys import detectors
from tests.toys.pooled import Spy, Toys


@pytest.fixture
def toys(tmp_path):
    with Toys(tmp_path) as toys:
        yield toys


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("side", [160, "any"])
@pytest.mark.parametrize(("face", "frame"), SCENES)
def test_a_planted_face_is_found(toys, face, frame, side, half):
    sides = (160, 160) if side == 160 else ("height", "width")
    check_planted(YoloFace(card("yolo_face"), toys.run(detectors.yolo_face(*sides, half=half))), face, frame)


def test_levels_reach_the_graph_blue_first_and_normalised(toys):
    graph = Spy(toys.run(detectors.yolo_face(64, 64)))
    YoloFace(card("yolo_face"), graph).detect(np.full((32, 48, 3), (255, 128, 0), np.uint8), 0.5)
    tensor = graph.given["input"][0]
    levels = np.array((255, 128, 0)) * (1.0 - (0.0)) / 255 + 0.0
    np.testing.assert_allclose(tensor[:, :32, :48], np.broadcast_to(levels[:, None, None], (3, 32, 48)), atol=1e-6)
    np.testing.assert_allclose(tensor[:, 32:], np.float32(0.0))


def table(*rows):
    return np.array(rows, np.float32).T[None]


POINTS = [value for index in range(5) for value in (10 * index, 10 * index + 1, 0.1)]


def test_decoded_by_hand():
    found = decode(table([50, 40, 20, 10, 0.8, *POINTS], [9, 9, 4, 4, 0.3, *POINTS]), 0.5)
    assert found.boxes.tolist() == [[40, 35, 60, 45]]
    assert found.scores == pytest.approx([0.8])
    assert found.points.tolist() == [[[0, 1], [10, 11], [20, 21], [30, 31], [40, 41]]]


def test_the_score_asked_for_is_not_enough():
    assert len(decode(table([50, 40, 20, 10, 0.5, *POINTS]), 0.5).scores) == 0


def test_a_graph_of_another_family_is_refused(toys):
    with pytest.raises(ModelError) as refused:
        YoloFace(card("yolo_face"), toys.run(detectors.scrfd(64, 64)))
    assert str(refused.value).startswith(
        "yolo_face: the graph does not fit its family: expected output 0 (score_8) as 1 x 20 x any, found 128 x 1 of "
    )
