"""Tests of which crops a landmarker sees with more contrast: those that are dark, however that is found out."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from facefusion.core.values import Size
from facefusion.faces.landmark.upright import DARK, SIDE, upright_crop, upright_map
from facefusion.vision.picture import BgrPicture

BOX = np.array((30, 30, 225, 225), np.float32)


def lightness(pixels):
    return cv2.cvtColor(pixels, cv2.COLOR_RGB2Lab)[..., 0].mean()


@pytest.mark.parametrize("colour", [(0, 40, 0), (90, 0, 90), (0, 8, 200), (30, 30, 30), (200, 0, 0)])
def test_contrast_is_raised_below_the_limit_alone(colour):
    noise = np.random.default_rng(2).integers(-6, 7, (SIDE, SIDE, 3))
    picture = BgrPicture(np.clip(noise + np.array(colour), 0, 255).astype(np.uint8))
    plain = picture.warp(upright_map(BOX, 0), Size(SIDE, SIDE))
    untouched = np.array_equal(upright_crop(picture, BOX, 0).pixels, plain)
    assert untouched == (lightness(plain) >= DARK)


def test_both_sides_of_the_limit_were_tried():
    tried = [lightness(np.full((2, 2, 3), colour, np.uint8)) for colour in ((90, 0, 90), (0, 8, 200), (30, 30, 30))]
    assert min(tried) < DARK < max(tried)


def test_lightness_grows_with_every_colour():
    random = np.random.default_rng(3)
    green = np.zeros((200, 200, 3), np.uint8)
    green[..., 1] = random.integers(0, 256, (200, 200))
    full = green.copy()
    full[..., ::2] = random.integers(0, 256, (200, 200, 2))
    assert (cv2.cvtColor(full, cv2.COLOR_RGB2Lab)[..., 0] >= cv2.cvtColor(green, cv2.COLOR_RGB2Lab)[..., 0]).all()


def test_beyond_the_frame_all_is_black():
    picture = BgrPicture(np.full((100, 100, 3), 200, np.uint8))
    crop = upright_crop(picture, np.array((-60, 0, 40, 100), np.float32), 0)
    assert picture.size == Size(100, 100)
    assert (crop.pixels[:, :50] == 0).all()
    assert (crop.pixels[128, 200] == 200).all()
