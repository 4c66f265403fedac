"""YuNet's arithmetic, and the search around any detector."""

from __future__ import annotations

import numpy as np
import pytest

from facefusion.core.values import Size
from facefusion.faces.detect.base import Detections, ScoreScale
from facefusion.faces.detect.letterbox import Letterbox
from facefusion.faces.detect.search import FaceSearch
from facefusion.faces.detect.yunet import YuNet, decode
from tests.faces.fakes import ArrayPicture, blank
from tests.faces.stage import DetectorGraph, card


def empty_outputs(width=64, height=96):
    outputs = {}
    for stride in (8, 16, 32):
        cells = (width // stride) * (height // stride)
        for name, size in (("cls", 1), ("obj", 1), ("bbox", 4), ("kps", 10)):
            outputs[f"{name}_{stride}"] = np.zeros((1, cells, size), np.float32)
    return outputs


def put(outputs, stride, cell, likelihood, offsets, points):
    outputs[f"cls_{stride}"][0, cell] = outputs[f"obj_{stride}"][0, cell] = likelihood
    outputs[f"bbox_{stride}"][0, cell] = offsets
    outputs[f"kps_{stride}"][0, cell] = points


def test_decode_by_hand():
    outputs = empty_outputs()
    # Row 2, column 3 of the 4 columns of stride 16: its corner lies at (48, 32).
    put(outputs, 16, 2 * 4 + 3, 0.9, (0.5, 0.25, np.log(2.0), np.log(3.0)), (0, 0, 1, 0, 0.5, 0.5, 0, 1, 1, 1))
    outputs["obj_16"][0, 11] = 0.4
    found = decode(outputs, 64, 0.5)
    assert found.boxes == pytest.approx(np.array([(56 - 16, 36 - 24, 56 + 16, 36 + 24)]))
    assert found.scores == pytest.approx([np.sqrt(0.9 * 0.4)])
    assert found.points[0] == pytest.approx(np.array([(48, 32), (64, 32), (56, 40), (48, 48), (64, 48)]))


def test_decode_takes_all_strides_and_the_first_cell():
    outputs = empty_outputs()
    for stride in (8, 16, 32):
        put(outputs, stride, 0, 0.8, (0.5, 0.5, 0, 0), [0] * 10)
    found = decode(outputs, 64, 0.5)
    assert found.boxes.tolist() == [[0, 0, 8, 8], [0, 0, 16, 16], [0, 0, 32, 32]]


@pytest.mark.parametrize(("score", "count"), [(0.79, 1), (0.8, 1), (0.81, 0)])
def test_score_limit_is_inclusive(score, count):
    outputs = empty_outputs()
    put(outputs, 8, 5, 0.8, [0] * 4, [0] * 10)
    assert len(decode(outputs, 64, score - 1e-6).scores) == count


def test_tensor_is_padded_at_the_right_and_bottom():
    image = np.full((33, 64, 3), (1, 2, 3), np.uint8)
    tensor, ratio = Letterbox((1, 3, None, None), 32).fit(image)
    assert tensor.shape == (1, 3, 64, 64)
    assert tensor.dtype == np.float32
    assert np.array_equal(tensor[0, :, 32, 63], (1, 2, 3))
    assert not tensor[0, :, 33:].any()
    assert ratio.tolist() == [1, 1]


def test_padding_is_black_before_it_is_normalised():
    letterbox = Letterbox((1, 3, 64, 96), 32, mean=127.5, deviation=128.0)
    for _ in range(2):  # the buffer of the first is used again
        tensor = letterbox.fit(np.full((10, 20, 3), 255, np.uint8)).tensor
        assert tensor.shape == (1, 3, 64, 96)
        assert np.unique(tensor[0, :, :10, :20]).tolist() == [127.5 / 128]
        tensor[0, :, :10, :20] = 0
        assert np.unique(tensor).tolist() == [-127.5 / 128, 0]


def test_a_picture_too_large_for_the_graph_is_shrunk_and_finds_led_back():
    letter = Letterbox((1, 3, 64, 64), 32).fit(np.full((100, 201, 3), 9, np.uint8))
    # 64 / 201 of 100 rows are 31.8; what is cut off shows in the ratio.
    assert np.array_equal(letter.tensor[0, 0] > 0, np.arange(64)[:, None] < np.full(64, 31))
    assert letter.ratio == pytest.approx([201 / 64, 100 / 31])
    found = letter.restore(
        Detections(
            np.array([[63.5, 10, -0.5, 30.5]], np.float32), np.ones(1, np.float32), np.zeros((1, 5, 2), np.float32)
        )
    )
    assert found.boxes[0] == pytest.approx([-0.5, 10.5 * 100 / 31 - 0.5, 200.5, 99.5], abs=1e-4)
    assert found.points[0, 0] == pytest.approx([0.5 * 201 / 64 - 0.5, 0.5 * 100 / 31 - 0.5])


def test_overlapping_candidates_are_one_face():
    class Graph(DetectorGraph):
        def run(self, inputs):
            outputs = empty_outputs(64, 64)
            put(outputs, 8, 9, 0.7, (0.5, 0.5, 1, 1), range(10))
            put(outputs, 8, 10, 0.9, (-0.4, 0.5, 1, 1), range(10))
            put(outputs, 8, 60, 0.8, (0.5, 0.5, 1, 1), range(10))
            return outputs

    found = YuNet(card("yunet"), Graph()).detect(np.zeros((64, 64, 3), np.uint8), 0.5)
    assert found.scores == pytest.approx([0.9, 0.8])


class SpotDetector:
    """Finds the brightest pixel, as a face of 4 x 2 pixels whose points lie to its right."""

    scores = ScoreScale.of(card("yunet"))

    def __init__(self):
        self.sizes: list[tuple[int, int]] = []

    def detect(self, image, minimum_score):
        self.sizes.append((image.shape[1], image.shape[0]))
        y, x = np.unravel_index(int(image[..., 0].argmax()), image.shape[:2])
        points = np.array([[(x + step, y) for step in range(5)]], np.float32)
        return Detections(np.array([(x - 2, y - 1, x + 2, y + 1)], np.float32), np.array([0.9], np.float32), points)


def spotted(x, y, width=320, height=240):
    picture = blank(width, height)
    picture.pixels[y, x] = 255
    return picture


@pytest.mark.parametrize(
    ("size", "expected"),
    [((1280, 720), (640, 360)), ((720, 1280), (360, 640)), ((320, 240), (320, 240)), ((4000, 2), (640, 1))],
)
def test_only_large_pictures_are_shrunk(size, expected):
    detector = SpotDetector()
    FaceSearch(detector).find(blank(*size))
    assert detector.sizes == [expected]


def test_finds_come_back_in_frame_pixels():
    picture = ArrayPicture(np.zeros((480, 640, 3), np.uint8))
    picture.pixels[100:104, 200:204] = 255
    found = FaceSearch(SpotDetector(), Size(160, 160)).find(picture)
    # Shrunk to a quarter, the block is one pixel; its middle is at 201.5, 101.5.
    assert found.points[0, 0].tolist() == [201.5, 101.5]
    assert found.boxes[0].tolist() == [193.5, 97.5, 209.5, 105.5]


@pytest.mark.parametrize("angle", [0, 90, 180, 270])
def test_quarter_turns_lead_back_to_the_spot(angle):
    found = FaceSearch(SpotDetector()).find(spotted(70, 40), [angle])
    assert found.points[0, 0].tolist() == [70, 40]
    left, top, right, bottom = found.boxes[0].tolist()
    assert (left, right, top, bottom) == ((68, 72, 39, 41) if angle in (0, 180) else (69, 71, 38, 42))
    step = found.points[0, 1] - found.points[0, 0]
    assert step.tolist() == {0: [1, 0], 90: [0, 1], 180: [-1, 0], 270: [0, -1]}[angle]


def test_unknown_angle_is_refused():
    with pytest.raises(ValueError, match="not 45"):
        FaceSearch(SpotDetector()).find(spotted(5, 5), [45])


def test_every_angle_gives_its_finds():
    assert len(FaceSearch(SpotDetector()).find(spotted(70, 40), [0, 90, 180]).scores) == 3


def test_margin_is_added_and_taken_off_again():
    detector = SpotDetector()
    found = FaceSearch(detector, margin=(50, 0, 0, 100)).find(spotted(70, 40))
    # 50 of 100 on top: a quarter of the height; 100 on the left: half of the width.
    assert detector.sizes == [(320 + 160, 240 + 60)]
    assert found.points[0, 0].tolist() == [70, 40]


def test_no_faces_are_empty_arrays():
    class Nothing:
        scores = ScoreScale.of(card("yunet"))

        def detect(self, image, minimum_score):
            return Detections(np.zeros((0, 4), np.float32), np.zeros(0, np.float32), np.zeros((0, 5, 2), np.float32))

    found = FaceSearch(Nothing()).find(blank(), [0, 90])
    assert (found.boxes.shape, found.points.shape) == ((0, 4), (0, 5, 2))
