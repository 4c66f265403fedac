from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facefusion.core.values import Size
from facefusion.vision.geometry import invert, transform_points
from facefusion.vision.picture import CENTRE, TOP_LEFT, BgrPicture, YuvPicture
from facefusion.vision.scaling import scaled
from tests.vision.pictures import FORMS, layout

SIZES = [Size(60, 40), Size(48, 40), Size(61, 33), Size(241, 161), Size(120, 40), Size(40, 200), Size(300, 24)]
OLD = Size(121, 81)


def wave(x, y):
    """Between 0 and 1, without detail finer than a dozen pixels of the old picture."""
    return 0.5 + 0.22 * np.sin(x * 0.11 + y * 0.05) + 0.22 * np.cos(y * 0.13 - x * 0.04)


def places(size, to_old):
    """Where the pixels of a plane lie in the old picture."""
    y, x = np.mgrid[: size.height, : size.width].astype(np.float64)
    points = transform_points(to_old, np.stack((x.ravel(), y.ravel()), axis=1))
    return points[:, 0].reshape(y.shape), points[:, 1].reshape(y.shape)


def from_new(size):
    """From pixels of a picture of ``size`` to those of the old one."""
    across, down = OLD.width / size.width, OLD.height / size.height
    return np.array([[across, 0.0, (across - 1) / 2], [0.0, down, (down - 1) / 2]])


def after(first, second):
    return np.vstack((first, (0, 0, 1)))[:2] @ np.vstack((second, (0, 0, 1)))


@pytest.mark.parametrize("form", [*FORMS, layout(2, 2, siting=CENTRE), layout(2, 1, siting=TOP_LEFT)])
@pytest.mark.parametrize("size", SIZES)
def test_every_plane_shows_the_same_at_the_new_size(form, size):
    """Chroma is looked for where its siting puts it, which also tells a shift of a fraction of a pixel."""
    peak = (1 << form.coding.bit_depth) - 1

    def planes(shown, to_old):
        for index in range(3):
            x, y = places(form.plane_size(index, shown), after(to_old, invert(form.to_plane(index))))
            yield np.rint(wave(x, y) * peak).astype(form.coding.dtype)

    picture = scaled(YuvPicture(list(planes(OLD, np.eye(2, 3))), form), size)
    assert (picture.size, picture.layout) == (size, form)
    for plane, expected in zip(picture.planes, planes(size, from_new(size)), strict=True):
        assert (plane.shape, plane.dtype) == (expected.shape, expected.dtype)
        inner = (slice(3, -3), slice(3, -3))  # at the border the picture is repeated outward
        difference = np.abs(plane[inner].astype(float) - expected[inner]) / peak
        assert difference.max() < 0.013
        assert difference.mean() < 0.0045


@pytest.mark.parametrize("picture", [BgrPicture(np.zeros((8, 6, 3), np.uint8)), scaled])
def test_nothing_is_done_where_the_size_stays(picture):
    if picture is scaled:
        picture = YuvPicture([np.zeros((8, 6), np.uint8)], layout(1, 1))
    assert scaled(picture, Size(6, 8)) is picture


@settings(max_examples=60)
@given(st.integers(1, 60), st.integers(1, 60), st.integers(1, 60), st.integers(1, 60), st.integers(0, 1023))
def test_a_flat_picture_stays_flat(width, height, new_width, new_height, code):
    form = layout(2, 2, bits=10)
    size = Size(width, height)
    planes = [np.full(form.plane_size(index, size)[::-1], code, np.uint16) for index in range(3)]
    for index, plane in enumerate(scaled(YuvPicture(planes, form), Size(new_width, new_height)).planes):
        assert plane.shape == form.plane_size(index, Size(new_width, new_height))[::-1]
        assert (plane == code).all()


def test_codes_stay_within_the_bits_that_they_have():
    """A cubic kernel overshoots at edges."""
    form = layout(1, 1, bits=10)
    steps = np.kron(np.indices((8, 8)).sum(axis=0) % 2, np.ones((4, 4))).astype(np.uint16) * 1023
    planes = scaled(YuvPicture([steps, steps, steps], form), Size(99, 99)).planes
    assert max(int(plane.max()) for plane in planes) == 1023


@pytest.mark.parametrize("width", [64, 50, 33])
def test_what_is_finer_than_the_new_pixels_is_averaged(width):
    stripes = np.zeros((8, 128, 3), np.uint8)
    stripes[:, ::2] = 255
    pixels = scaled(BgrPicture(stripes), Size(width, 4)).to_bgr()
    assert abs(pixels.astype(float).mean() - 127.5) < 1
    assert pixels.max() < 200
    assert pixels.min() > 55


@pytest.mark.parametrize("size", [Size(10, 10), Size(13, 17), Size(77, 65)])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_clear_pixels_lend_no_colour(size, dtype):
    peak = np.iinfo(dtype).max
    pixels = np.zeros((32, 32, 3), dtype)
    pixels[:, 15:] = (0, 0, peak)
    alpha = np.zeros((32, 32), dtype)
    alpha[:, 15:] = peak
    picture = scaled(BgrPicture(pixels, alpha), size)
    assert picture.alpha is not None
    shown = picture.alpha > peak // 100
    assert shown.any()
    assert not shown.all()
    assert np.abs(picture.pixels[shown].astype(float) - (0, 0, peak)).max() <= peak / 200


def test_clear_pixels_of_video_lend_no_colour():
    form = layout(2, 2)
    size = Size(32, 32)
    planes = [np.zeros(form.plane_size(index, size)[::-1], np.uint8) for index in range(3)]
    alpha = np.zeros((32, 32), np.uint8)
    alpha[:, 16:] = 255
    for plane, code, first in zip(planes, (90, 60, 200), (16, 8, 8), strict=True):
        plane[:, first:] = code
    picture = scaled(YuvPicture(planes, form, alpha), Size(46, 46))
    assert picture.alpha is not None
    assert picture.alpha[0, 0] == 0
    assert picture.alpha[-1, -1] == 255
    opaque = picture.alpha > 250
    assert np.abs(picture.planes[0][opaque].astype(int) - 90).max() <= 1
    for plane, code in zip(picture.planes[1:], (60, 200), strict=True):
        assert np.abs(plane[opaque[::2, ::2]].astype(int) - code).max() <= 1
