"""RetinaFace and SCRFD, with graphs that find a planted square."""

from __future__ import annotations

import numpy as np
import pytest

from facefusion.core.errors import ModelError
from facefusion.core.values import Size
from facefusion.faces.detect.scrfd import Scrfd, decode
from tests.faces.planted import SCENES, check_planted
from tests.faces.stage import card
from tests.toys import detectors
from tests.toys.pooled import Spy, Toys


@pytest.fixture
def toys(tmp_path):
    with Toys(tmp_path) as toys:
        yield toys


@pytest.mark.parametrize("options", [{}, {"anchors": 1, "batched": True}, {"half": True}], ids=str)
@pytest.mark.parametrize(("face", "frame"), SCENES)
def test_a_planted_face_is_found(toys, face, frame, options):
    check_planted(Scrfd(card("scrfd"), toys.run(detectors.scrfd("height", "width", **options))), face, frame)


@pytest.mark.parametrize(("height", "width"), [(160, 160), (192, 320), (96, 64)])
def test_a_graph_of_fixed_size_is_given_that_size(toys, height, width):
    graph = toys.run(detectors.scrfd(height, width))
    detector = Scrfd(card("scrfd"), graph)
    found = detector.detect(detectors.planted(60, 40, 30, 120, 90).pixels, 0.5)
    assert graph.runs == [{"input": (1, 3, height, width)}]
    assert found.boxes[0] == pytest.approx(np.array((45, 25, 75, 55)), abs=0.5 * max(1, 120 / width))


def test_levels_reach_the_graph_blue_first_and_normalised(toys):
    graph = Spy(toys.run(detectors.scrfd(64, 64)))
    Scrfd(card("scrfd"), graph).detect(np.full((32, 48, 3), (255, 128, 0), np.uint8), 0.5)
    tensor = graph.given["input"][0]
    levels = np.array((255, 128, 0)) * (127.5 / 128 - (-127.5 / 128)) / 255 + -127.5 / 128
    np.testing.assert_allclose(tensor[:, :32, :48], np.broadcast_to(levels[:, None, None], (3, 32, 48)), atol=1e-6)
    np.testing.assert_allclose(tensor[:, 32:], np.float32(-127.5 / 128))


def empty(size, anchors=2):
    cells = [anchors * (size.width // stride) * (size.height // stride) for stride in (8, 16, 32)]
    return [np.zeros((count, wide), np.float32) for wide in (1, 4, 10) for count in cells]


def test_decoded_by_hand():
    size = Size(64, 96)
    outputs = empty(size)
    # Row 2, column 3 of the 4 columns of stride 16, second anchor: at (48, 32).
    index = 2 * (2 * 4 + 3) + 1
    outputs[1][index] = 0.75
    outputs[4][index] = (1, 2, 0.5, 0.25)
    outputs[7][index] = (0, 0, 1, 0, 0.5, 0.5, -1, 1, 1, 1)
    found = decode(outputs, size, 0.75)
    assert found.scores.tolist() == [0.75]
    assert found.boxes.tolist() == [[32, 0, 56, 36]]
    assert found.points.tolist() == [[[48, 32], [64, 32], [56, 40], [32, 48], [64, 48]]]
    assert len(decode(outputs, size, 0.76).scores) == 0


def test_the_first_candidate_of_a_stride_counts():
    outputs = empty(Size(64, 64))
    for stride in range(3):
        outputs[stride][0] = 0.9
    assert len(decode(outputs, Size(64, 64), 0.5).scores) == 3


def test_outputs_of_another_grid_are_refused(toys):
    with pytest.raises(ModelError) as refused:
        Scrfd(card("scrfd"), toys.run(detectors.yolo_face("height", "width")))
    assert "scrfd: the graph does not fit its family: expected 9 outputs, found 1 (output0)" in str(refused.value)
    with pytest.raises(ValueError, match="127 scores for a grid of 8 x 8 cells of stride 8"):
        decode([array[1:] for array in empty(Size(64, 64))], Size(64, 64), 0.5)


def test_overlaps_beyond_the_limit_are_one_face():
    outputs = empty(Size(64, 64))
    for index, (score, edges) in {0: (0.9, (0, 0, 4, 4)), 2: (0.8, (1, 0, 4, 4)), 60: (0.7, (0, 0, 1, 1))}.items():
        outputs[0][index], outputs[3][index] = score, edges
    found = decode(outputs, Size(64, 64), 0.5).apart(0.4)
    assert found.scores == pytest.approx([0.9, 0.7])
