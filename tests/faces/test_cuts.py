"""A cut is told from everything else that happens between two pictures."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facefusion.faces.cuts import CutFinder
from tests.faces.fakes import ArrayPicture, blank


def scene(seed, width=320, height=180):
    """A smooth picture of its own colours; larger than what is shown of it, so that a camera can move over it."""
    coarse = np.random.default_rng(seed).integers(20, 200, (7, 10, 3)).astype(np.uint8)
    return cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC)


def cuts(pictures):
    finder = CutFinder()
    return [index for index, pixels in enumerate(pictures) if finder.falls_before(ArrayPicture(pixels))]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6), st.integers(2, 5))
def test_every_change_of_scene_is_a_cut_and_nothing_else(seeds, length):
    pictures = [scene(seed) for seed in seeds for _ in range(length)]
    changes = [number * length for number in range(1, len(seeds)) if seeds[number] != seeds[number - 1]]
    assert cuts(pictures) == changes


def test_first_picture_is_no_cut():
    assert cuts([scene(0)]) == []


def test_light_that_changes_is_no_cut():
    dim = [np.rint(scene(1) * light).astype(np.uint8) for light in (1.0, 0.6, 0.3, 0.9, 0.2, 1.0)]
    flash = np.minimum(scene(1).astype(int) + 55, 255).astype(np.uint8)
    assert cuts([*dim, flash, scene(1)]) == []


def test_noise_and_somebody_who_walks_by_are_no_cuts():
    generator = np.random.default_rng(4)
    pictures = []
    for step in range(20):
        pixels = scene(2).astype(int)
        pixels[60:, 15 * step : 15 * step + 60] = (30, 40, 160)
        pictures.append(np.clip(pixels + generator.normal(0, 12, pixels.shape), 0, 255).astype(np.uint8))
    assert cuts(pictures) == []


def test_camera_that_moves_ever_faster_is_no_cut():
    wide = scene(3, 1280, 180)
    lefts = np.cumsum(np.linspace(0, 14, 30)).astype(int)
    assert cuts([wide[:, left : left + 320] for left in lefts]) == []


def test_cut_to_a_scene_much_like_the_one_before():
    """Two talking heads before one wall: what differs is in the middle."""

    def shot(colour):
        pixels = scene(5)
        cv2.ellipse(pixels, (160, 110), (60, 80), 0, 0, 360, colour, -1)
        return pixels

    assert cuts([shot((90, 120, 200))] * 6 + [shot((200, 60, 40))] * 6) == [6]


@pytest.mark.parametrize("level", [0, 16, 255])
def test_pictures_of_one_colour_are_one_scene(level):
    generator = np.random.default_rng(6)
    plain = [np.clip(level + generator.normal(0, 1.0, (180, 320, 3)), 0, 255).astype(np.uint8) for _ in range(6)]
    assert cuts(plain) == []
    assert cuts([*plain, scene(0), scene(0)]) == [6]


def test_scene_after_black_is_another_one():
    finder = CutFinder()
    assert [finder.falls_before(picture) for picture in (blank(), blank(), ArrayPicture(scene(1)))] == [
        False,
        False,
        True,
    ]
