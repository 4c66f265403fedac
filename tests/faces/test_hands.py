"""Hands near a face: found, read twice and drawn, on graphs whose answer can be computed by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facefusion.core.errors import ModelError
from facefusion.core.values import Size
from facefusion.faces.hands.find import AROUND, HandFinder
from facefusion.faces.hands.joints import HandJoints, hand_square
from facefusion.faces.hands.palm import PalmDetector
from facefusion.faces.hands.shape import draw_hand
from facefusion.faces.surface.square import face_square
from facefusion.vision.geometry import SquareRegion, invert, transform_mesh, transform_points
from tests.faces.fakes import ArrayPicture
from tests.toys import hands as toys
from tests.toys import heads
from tests.toys.pooled import Toys

PALM = 40.0
"""Side of a palm, in pixels of what the detector sees."""


def numbers(towards=-math.pi / 2, offset=(0.0, 0.0), size=(PALM, PALM)):
    """What is said of an anchor: a palm around it whose fingers point ``towards`` (radians, y down)."""
    points = np.zeros((7, 2))
    points[2] = 10 * math.cos(towards), 10 * math.sin(towards)
    return np.concatenate((offset, size, (points + offset).ravel()))


@pytest.fixture
def pool(tmp_path):
    with Toys(tmp_path) as made:
        yield made


def detector(pool, **about):
    channel = about.pop("channel", 0)
    graph = pool.run(toys.palm_detector(numbers(**about), channel))
    return PalmDetector(toys.card("palm_detection", "palm"), graph)


def lit(column, row, stride, channel=2):
    """A dark picture with one bright cell of a grid; 2 is red in BGR."""
    picture = np.zeros((192, 192, 3), np.uint8)
    picture[row * stride : (row + 1) * stride, column * stride : (column + 1) * stride, channel] = 255
    return picture


class TestPalms:
    @pytest.mark.parametrize(("column", "row"), [(0, 0), (23, 0), (5, 17), (23, 23)])
    def test_a_palm_lies_at_the_middle_of_its_cell(self, pool, column, row):
        (hand,) = detector(pool).find(lit(column, row, 8))
        # The fingers point up: the hand's middle is half a palm above the palm's.
        assert hand[:3] == pytest.approx((8 * column + 3.5, 8 * row + 3.5 - PALM / 2, 2.6 * PALM), abs=1e-4)
        assert math.cos(hand.angle) == pytest.approx(1)

    def test_a_cell_of_the_coarse_grid(self, pool):
        """Its four cells of the fine grid are as bright: the anchors overlap, and the first of the surest is taken."""
        (hand,) = detector(pool, size=(150.0, 100.0)).find(lit(5, 3, 16))
        assert hand.side == pytest.approx(2.6 * 150)
        assert hand.x == pytest.approx(16 * 5 + 7.5, abs=4.1)

    @pytest.mark.parametrize("towards", [0.0, 1.0, 2.5, -3.0])
    def test_the_fingers_say_where_the_hand_is_and_how_it_is_turned(self, pool, towards):
        (hand,) = detector(pool, towards=towards, offset=(6.0, -4.0)).find(lit(10, 12, 8))
        palm = np.array((8 * 10 + 3.5 + 6, 8 * 12 + 3.5 - 4))
        fingers = np.array((math.cos(towards), math.sin(towards)))
        assert (hand.x, hand.y) == pytest.approx(palm + PALM / 2 * fingers, abs=1e-3)
        # In a crop of that square the fingers point up.
        ahead = transform_points(hand.to_crop(100), np.array((hand[:2], hand[:2] + fingers)))
        assert ahead[1] - ahead[0] == pytest.approx((0, -100 / hand.side), abs=1e-6)

    def test_only_what_is_more_likely_than_not_counts(self, pool):
        found = detector(pool)
        dim, bright = (np.full((192, 192, 3), level, np.uint8) for level in (126, 129))
        assert found.find(dim) == []
        assert found.find(bright) != []

    def test_palms_that_overlap_are_one(self, pool):
        picture = lit(2, 2, 8) + lit(3, 2, 8) + lit(20, 2, 8)
        assert len(detector(pool).find(picture)) == 2

    @pytest.mark.parametrize("channel", [0, 1, 2])
    def test_colours_come_as_red_green_blue(self, pool, channel):
        assert len(detector(pool, channel=channel).find(lit(4, 4, 8, channel=2 - channel))) == 1
        assert detector(pool, channel=channel).find(lit(4, 4, 8, channel=(3 - channel) % 3)) == []

    def test_another_graph_is_refused(self, pool):
        with pytest.raises(ModelError, match="palm_detection: the graph does not fit its family"):
            PalmDetector(toys.card("palm_detection", "palm"), pool.run(toys.hand_reader(toys.open_hand())))


class TestJoints:
    def test_joints_are_brought_back_to_the_picture(self, pool):
        """Counted from the crop's edge, so the corner of the crop is half a pixel before its first one."""
        square = SquareRegion(150.0, 90.0, 112.0, 0.7)
        reader = HandJoints(toys.card("hand_landmarks", "joints"), pool.run(toys.hand_reader(toys.open_hand())))
        picture = np.full((200, 300, 3), (0, 102, 0), np.uint8)
        joints, presence = reader.read(ArrayPicture(picture), square)
        expected = transform_points(invert(square.to_crop(224)), toys.open_hand()[:, :2].astype(np.float64) - 0.5)
        np.testing.assert_allclose(joints[:, :2], expected, atol=1e-3)
        assert presence == pytest.approx(0.4, abs=1e-5)

    def test_depth_has_the_scale_of_the_picture(self, pool):
        deep = toys.open_hand()
        deep[:, 2] = np.arange(21)
        reader = HandJoints(toys.card("hand_landmarks", "joints"), pool.run(toys.hand_reader(deep)))
        joints = reader.read(ArrayPicture(np.zeros((9, 9, 3), np.uint8)), SquareRegion(4, 4, 112, 0)).joints
        np.testing.assert_allclose(joints[:, 2], np.arange(21) / 2, atol=1e-4)

    def test_another_graph_is_refused(self, pool):
        with pytest.raises(ModelError, match="hand_landmarks: the graph does not fit its family"):
            HandJoints(toys.card("hand_landmarks", "joints"), pool.run(toys.palm_detector(numbers())))

    @given(st.floats(-3, 3), st.floats(20, 200), st.floats(-50, 50))
    def test_the_square_of_a_hand_turns_with_it(self, angle, side, x):
        upright = hand_square(toys.open_hand())
        assert upright.angle == pytest.approx(0, abs=0.05)
        placed = transform_mesh(invert(SquareRegion(x, 10.0, side, angle).to_crop(224)), toys.open_hand())
        square = hand_square(placed)
        assert square.side == pytest.approx(upright.side * side / 224, rel=1e-3)
        assert math.cos(square.angle - angle - upright.angle) == pytest.approx(1, abs=1e-4)


HEAD = heads.mesh(centre=(300, 300), radius=60)


def scene(column, row, green, mesh=HEAD):
    """A picture in which one cell of the window around a face is red, and all of it is as green as the hand is sure."""
    square = face_square(mesh)
    window = square._replace(side=square.side * AROUND)
    pixels = np.zeros((600, 600, 3), np.uint8)
    left, top = transform_points(invert(window.to_crop(192)), np.array((8 * column + 3.5, 8 * row + 3.5)))
    cell = SquareRegion(float(left), float(top), 1, 0)
    side = window.side / 192 * 8
    y, x = np.mgrid[:600, :600]
    turned = transform_points(
        cell._replace(angle=window.angle, side=side).to_crop(1), np.stack((x, y), -1).reshape(-1, 2) * 1.0
    )
    pixels[(np.abs(turned) <= 0.5).all(axis=1).reshape(600, 600), 2] = 255
    pixels[..., 1] = round(255 * green)
    return ArrayPicture(pixels), window


class TestNear:
    def finder(self, pool):
        self.reads = pool.run(toys.hand_reader(toys.open_hand()))
        return HandFinder(detector(pool), HandJoints(toys.card("hand_landmarks", "joints"), self.reads))

    @pytest.mark.parametrize("roll", [0, 35, -120])
    def test_a_hand_is_read_where_its_first_reading_says(self, pool, roll):
        mesh = heads.mesh(centre=(300, 300), radius=60, roll=roll)
        picture, window = scene(12, 14, 0.9, mesh)
        (joints,) = self.finder(pool).near(picture, mesh)
        # By hand: the palm's square in the window, then the same hand once more within the square around that.
        hand = SquareRegion(8 * 12 + 3.5, 8 * 14 + 3.5 - PALM / 2, 2.6 * PALM, 0.0)
        to_frame = invert(window.to_crop(192))
        x, y = transform_points(to_frame, np.array((hand.x, hand.y)))
        first = SquareRegion(x, y, hand.side * window.side / 192, window.angle)
        once = transform_mesh(invert(first.to_crop(224)), toys.open_hand() - np.array((0.5, 0.5, 0), np.float32))
        again = invert(hand_square(once).to_crop(224))
        expected = transform_points(again, toys.open_hand()[:, :2].astype(np.float64) - 0.5)
        np.testing.assert_allclose(joints[:, :2], expected, atol=1.5)
        assert len(self.reads.runs) == 2

    @pytest.mark.parametrize(("green", "reads", "found"), [(0.45, 1, 0), (0.8, 2, 0), (0.9, 2, 1)])
    def test_it_must_be_sure_the_first_time_and_surer_the_second(self, pool, green, reads, found):
        picture, _ = scene(12, 14, green)
        assert len(self.finder(pool).near(picture, HEAD)) == found
        assert len(self.reads.runs) == reads

    def test_a_hand_that_does_not_reach_to_the_face_is_not_read(self, pool):
        picture, _ = scene(23, 23, 0.9)
        assert self.finder(pool).near(picture, HEAD) == []
        assert self.reads.runs == []

    def test_without_a_palm_nothing_is_read(self, pool):
        assert self.finder(pool).near(ArrayPicture(np.full((600, 600, 3), (255, 255, 0), np.uint8)), HEAD) == []
        assert self.reads.runs == []


class TestShape:
    SIZE = Size(224, 224)

    def test_joints_and_palm_are_inside_and_what_lies_between_fingers_is_not(self):
        marks = draw_hand(toys.open_hand(), self.SIZE)
        assert set(np.unique(marks)) == {0, 255}
        for x, y, _ in toys.open_hand():
            assert marks[int(y), int(x)] == 255
        assert marks[150, 110] == 255  # in the palm
        assert marks[56, 93] == 0  # between two fingers
        assert marks[10, 104] == 0  # beyond a tip
        assert marks[220, 112] == 255  # the forearm

    def test_fingers_are_as_wide_as_fingers(self):
        """The length of the palm is about 80 pixels here, a finger a fifth of it."""
        row = draw_hand(toys.open_hand(), self.SIZE)[60, 98:112]
        assert 12 <= np.count_nonzero(row) <= 14

    @given(st.floats(1.0, 3.0))
    def test_the_shape_grows_with_the_hand(self, scale):
        size = Size(round(224 * scale) + 2, round(224 * scale) + 2)
        share = (draw_hand(toys.open_hand() * np.float32(scale), size) > 0).sum() / scale**2
        assert share == pytest.approx((draw_hand(toys.open_hand(), Size(226, 226)) > 0).sum(), rel=0.05)

    def test_a_hand_that_points_at_the_camera_is_no_thinner(self):
        foreshortened = toys.open_hand()
        foreshortened[:, 1] = 150 + (foreshortened[:, 1] - 150) * 0.3
        foreshortened[:, 2] = (toys.open_hand()[:, 1] - 150) * 0.95
        tips = draw_hand(foreshortened, self.SIZE)[int(foreshortened[12, 1]) - 4]
        assert np.count_nonzero(tips[98:112]) >= 10

    def test_what_lies_outside_is_cut_off(self):
        away = toys.open_hand() + np.array((1000, 0, 0), np.float32)
        assert not draw_hand(away, self.SIZE).any()
        assert draw_hand(toys.open_hand() * 40, self.SIZE).shape == (224, 224)
