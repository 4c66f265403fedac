"""High dynamic range as an ordinary display's levels, and back."""

from __future__ import annotations

import numpy as np
import pytest

from facefusion.vision.colour import Coding, Matrix, bgr_to_planes, planes_to_bgr
from facefusion.vision.dynamic_range import (
    WHITE,
    DynamicRange,
    from_display,
    pq_code,
    pq_light,
    rolled_off,
    to_display,
)
from facefusion.vision.picture import Layout, YuvPicture

HIGH = [DynamicRange.PQ, DynamicRange.HLG]


def test_pq_is_that_of_st_2084():
    """Levels from ITU-R BT.2408, table 1, and the ends."""
    codes = pq_code(np.array([0.0, 26.0, 203.0, 1000.0, 10_000.0]))
    assert codes == pytest.approx([0.0, 0.38, 0.58, 0.75, 1.0], abs=0.003)
    light = np.array([0.005, 1.0, 100.0, 5000.0])
    assert pq_light(pq_code(light)) == pytest.approx(light, rel=1e-6)


def test_dark_and_middle_tones_stay_and_bright_ones_are_rolled_off():
    light = np.geomspace(0.01, 1000.0, 400)
    mapped = rolled_off(light, 1000.0)
    assert mapped[light < 60] == pytest.approx(light[light < 60], rel=1e-6)
    assert np.all(np.diff(mapped) > 0)
    assert np.all(mapped <= light * (1 + 1e-9))
    assert mapped[-1] == pytest.approx(WHITE)
    assert 120 < float(rolled_off(np.array([203.0]), 1000.0)[0]) < 203


def test_a_master_no_brighter_than_white_is_left_alone():
    light = np.array([1.0, 50.0, 203.0])
    assert rolled_off(light, WHITE) == pytest.approx(light)


@pytest.mark.parametrize("dynamic_range", HIGH)
def test_a_diffuse_white_is_bright_and_middle_grey_in_the_middle(dynamic_range):
    """BT.2408: white at 58 % PQ and 75 % HLG, 18 % grey at 38 % of both."""
    white = 0.58 if dynamic_range is DynamicRange.PQ else 0.75
    codes = np.array([[[0.0] * 3, [0.38] * 3, [white] * 3, [1.0] * 3]], np.float32) * 255
    shown = to_display(codes, dynamic_range)[0]
    assert np.ptp(shown, axis=1).max() < 0.5
    assert shown[:, 0] == pytest.approx([0, 108, 230, 255], abs=4)


@pytest.mark.parametrize("dynamic_range", HIGH)
def test_levels_of_a_display_come_back(dynamic_range):
    levels = np.random.default_rng(0).uniform(16, 240, (64, 64, 3)).astype(np.float32)
    back = to_display(from_display(levels, dynamic_range), dynamic_range)
    assert np.abs(back - levels).max() < 2.0
    assert np.abs(back - levels).mean() < 0.1


@pytest.mark.parametrize("dynamic_range", HIGH)
def test_planes_of_ten_bits_come_back(dynamic_range):
    """As far as they lie within the display's colours: what a processor leaves as it was stays as it was."""
    coding = Coding(Matrix.BT2020, full_range=False, bit_depth=10, dynamic_range=dynamic_range)
    levels = np.random.default_rng(1).uniform(20, 235, (32, 32, 3)).astype(np.float32)
    planes = bgr_to_planes(levels, coding)
    again = bgr_to_planes(planes_to_bgr(planes, coding, as_float=True), coding)
    for one, other in zip(planes, again, strict=True):
        assert np.abs(one.astype(int) - other.astype(int)).max() <= 2


def test_eight_bits_are_given_where_eight_bits_are_asked_for():
    coding = Coding(Matrix.BT2020, full_range=False, bit_depth=10, dynamic_range=DynamicRange.PQ)
    planes = bgr_to_planes(np.full((4, 4, 3), 128, np.uint8), coding)
    assert planes[0].dtype == np.uint16
    assert planes_to_bgr(planes, coding).dtype == np.uint8
    assert np.abs(planes_to_bgr(planes, coding).astype(int) - 128).max() <= 1


def test_what_is_pasted_has_the_light_of_what_is_around():
    """A crop as it was sampled, pasted back, changes nothing that can be seen."""
    coding = Coding(Matrix.BT2020, full_range=False, bit_depth=10, dynamic_range=DynamicRange.PQ)
    y, x = np.mgrid[0:64, 0:64]
    levels = np.stack([120 + 60 * np.sin(x / 9), 130 + 50 * np.cos(y / 11), 140 + 40 * np.sin((x + y) / 13)], -1)
    picture = YuvPicture.from_bgr(levels.astype(np.float32), Layout(coding, 2, 2))
    before = [plane.copy() for plane in picture.planes]
    here = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    crop = picture.to_bgr(as_float=True)
    picture.paste(crop, np.ones((64, 64), np.float32), here)
    for plane, was in zip(picture.planes, before, strict=True):
        assert np.abs(plane.astype(int) - was.astype(int)).mean() < 1.0


@pytest.mark.parametrize("dynamic_range", HIGH)
def test_the_brightest_level_is_the_brightest_light_that_is_looked_at(dynamic_range):
    levels = np.linspace(250, 255, 501, dtype=np.float32)
    codes = from_display(np.repeat(levels, 3).reshape(1, -1, 3), dynamic_range)[0, :, 0] / 255
    assert codes[-1] == pytest.approx({DynamicRange.PQ: 0.7518, DynamicRange.HLG: 1.0}[dynamic_range], abs=0.001)
    assert (np.diff(codes) >= 0).all()
    assert np.diff(codes).max() < 0.05
