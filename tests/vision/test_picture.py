from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facefusion.core.values import Size
from facefusion.vision.geometry import invert, transform_points
from facefusion.vision.picture import BgrPicture, YuvPicture
from tests.vision.pictures import FORMS, IDENTITY, disc, layout, turned, yuv


def smooth(width, height, seed=0):
    """A picture without detail finer than a few pixels, inside every gamut."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width]
    waves = [np.sin(x * a + y * b + c) for a, b, c in rng.uniform(0.02, 0.12, (3, 3))]
    return np.rint(128 + 50 * np.stack(waves, axis=-1)).astype(np.uint8)


def frozen(picture):
    planes = [plane.copy() for plane in picture.planes]
    for plane in planes:
        plane.flags.writeable = False
    return YuvPicture(planes, picture.layout), planes


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", [(64, 48), (65, 47)])
def test_whole_picture_round_trip(form, size):
    pixels = smooth(*size)
    picture = yuv(pixels, form)
    assert picture.size == size
    assert picture.bit_depth == form.coding.bit_depth
    assert [plane.shape[::-1] for plane in picture.planes] == [form.plane_size(i, Size(*size)) for i in range(3)]
    back = picture.to_bgr()
    inner = np.abs(back.astype(int) - pixels)[4:-4, 4:-4]
    assert inner.max() <= 4 and inner.mean() < 1.0


@pytest.mark.parametrize("form", FORMS)
def test_warp_agrees_with_converting_the_whole_picture_first(form):
    pixels = smooth(96, 80)
    picture = yuv(pixels, form)
    whole = BgrPicture(pixels)
    affine = turned(0.8, 0.3, (50, 41), 40)
    assert np.abs(picture.warp(affine, Size(40, 40)).astype(int) - whole.warp(affine, Size(40, 40))).max() <= 4


@settings(max_examples=25)
@given(
    scale=st.floats(0.15, 3.5),
    angle=st.floats(-3.1, 3.1),
    x=st.floats(120, 180),
    y=st.floats(90, 150),
    form=st.sampled_from(FORMS),
)
def test_warp_is_centred(scale, angle, x, y, form):
    """A blob in the frame lands where the map says, at any scale."""
    sigma = max(6.0, 3.0 / scale)
    grid_y, grid_x = np.mgrid[:240, :300]
    blob = np.exp(-((grid_x - x) ** 2 + (grid_y - y) ** 2) / (2 * sigma**2))
    picture = yuv(np.repeat((200 * blob[..., None]).round().astype(np.uint8), 3, axis=2), form)
    size = 2 * int(4 * sigma * scale) + 9
    affine = turned(scale, angle, (x + 1.3, y - 0.7), size)
    crop = picture.warp(affine, Size(size, size), as_float=True)[..., 1]
    found = centroid(crop)
    assert np.abs(found - transform_points(affine, np.array([x, y]))).max() < 0.05 * max(1.0, scale)


def centroid(levels):
    weight = np.clip(levels.astype(np.float64) - 12, 0, None)
    y, x = np.mgrid[: levels.shape[0], : levels.shape[1]]
    return np.array([(x * weight).sum(), (y * weight).sum()]) / weight.sum()


def paste_errors(form, scale, angle, x, y):
    """How far the middle of a pasted blob lies from where it should, in each plane."""
    picture = yuv(np.full((240, 300, 3), 60, np.uint8), form)
    crop_size = 161
    grid_y, grid_x = np.mgrid[:crop_size, :crop_size]
    sigma = 14.0 * max(1.0, scale * 0.8)
    blob = np.exp(-((grid_x - 80) ** 2 + (grid_y - 80) ** 2) / (2 * sigma**2))
    crop = np.stack((60 + 20 * blob, 60 + 150 * blob, 60 + 60 * blob), axis=-1).astype(np.float32)
    picture.paste(crop, disc(crop_size, 76, 20), turned(scale, angle, (x, y), crop_size))
    errors = []
    for index, plane in enumerate(picture.planes):
        change = plane.astype(np.float64) - plane[0, 0]
        weight = np.clip(np.abs(change) - 0.2 * np.abs(change).max(), 0, None)
        grid = np.mgrid[: plane.shape[0], : plane.shape[1]][::-1].astype(np.float64)
        found = (grid * weight).sum(axis=(1, 2)) / weight.sum()
        errors.append(found - transform_points(form.to_plane(index), np.array([x, y])))
    return np.array(errors)


@settings(max_examples=25)
@given(
    scale=st.floats(0.3, 4.0),
    angle=st.floats(-3.1, 3.1),
    x=st.floats(140, 160),
    y=st.floats(110, 130),
    form=st.sampled_from([form for form in FORMS if form.coding.bit_depth > 8]),
)
def test_paste_is_centred_in_every_plane(scale, angle, x, y, form):
    assert np.abs(paste_errors(form, scale, angle, x, y)).max() < 0.05


@pytest.mark.parametrize("scale", [0.7, 1.0, 2.0])
@pytest.mark.parametrize("form", [form for form in FORMS if form.coding.bit_depth == 8])
def test_paste_of_8_bits_is_centred_on_the_whole(form, scale):
    """Single positions differ by what rounding to a few whole levels does; taken together there is no shift."""
    random = np.random.default_rng(1)
    places = random.uniform((140, 110), (160, 130), (60, 2))
    errors = [paste_errors(form, scale, 0.3, x, y) for x, y in places]
    assert np.abs(np.mean(errors, axis=0)).max() < 0.05


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("scale", [0.4, 1.0, 2.3])
def test_nothing_outside_the_mask_changes(form, scale):
    picture, before = frozen(yuv(smooth(160, 120), form))
    size = 96
    affine = turned(scale, 0.4, (70, 60), size)
    mask = disc(size, 30)
    picture.paste(np.full((size, size, 3), 255, np.uint8), mask, affine)
    reach = 30 / scale
    for index, (plane, old) in enumerate(zip(picture.planes, before, strict=True)):
        grid = np.mgrid[: plane.shape[0], : plane.shape[1]][::-1].transpose(1, 2, 0).astype(np.float64)
        frame_points = transform_points(invert(form.to_plane(index)), grid)
        distance = np.hypot(*(frame_points - (70, 60)).transpose(2, 0, 1))
        step = 1 if index == 0 else max(form.step_x, form.step_y)
        outside = distance > reach + 1.5 * max(step, 1 / scale) + step
        assert outside.any() and (~outside).any()
        assert np.array_equal(plane[outside], old[outside])
        assert not np.array_equal(plane, old)


def test_read_only_planes_are_never_written():
    picture, before = frozen(yuv(smooth(64, 64), layout()))
    copies = [plane.copy() for plane in before]
    picture.paste(np.zeros((32, 32, 3), np.uint8), np.ones((32, 32), np.float32), turned(1, 0, (30, 30), 32))
    assert all(np.array_equal(plane, copy) for plane, copy in zip(before, copies, strict=True))
    assert not np.array_equal(picture.planes[0], copies[0])


def test_an_empty_mask_or_a_crop_outside_the_frame_copies_nothing():
    picture, before = frozen(yuv(smooth(64, 64), layout()))
    crop = np.zeros((32, 32, 3), np.uint8)
    picture.paste(crop, np.zeros((32, 32), np.float32), turned(1, 0, (30, 30), 32))
    picture.paste(crop, np.ones((32, 32), np.float32), turned(1, 0, (500, 30), 32))
    assert all(plane is old for plane, old in zip(picture.planes, before, strict=True))


@pytest.mark.parametrize("form", FORMS)
def test_rollback_restores_every_plane(form):
    picture, before = frozen(yuv(smooth(90, 70), form))
    for x in (20, 35, 50):
        picture.paste(np.full((40, 40, 3), x, np.uint8), disc(40, 18), turned(0.9, 0.2, (x, 30), 40))
    assert not np.array_equal(picture.planes[0], before[0])
    picture.rollback()
    assert all(np.array_equal(plane, old) for plane, old in zip(picture.planes, before, strict=True))


@pytest.mark.parametrize("full", [False, True])
def test_an_unchanged_crop_comes_back_within_rounding_without_subsampling(full):
    picture = yuv(smooth(80, 60), layout(1, 1, full=full))
    before = [plane.copy() for plane in picture.planes]
    shift = np.array([[1.0, 0.0, -17.0], [0.0, 1.0, -9.0]])
    picture.paste(picture.warp(shift, Size(40, 40)), np.ones((40, 40), np.float32), shift)
    assert max(np.abs(a.astype(int) - b).max() for a, b in zip(picture.planes, before, strict=True)) <= 1


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_an_unchanged_bgr_crop_comes_back_exactly(dtype):
    rng = np.random.default_rng(1)
    pixels = rng.integers(0, np.iinfo(dtype).max, (60, 80, 3), dtype, endpoint=True)
    picture = BgrPicture(pixels.copy())
    shift = np.array([[1.0, 0.0, -17.0], [0.0, 1.0, -9.0]])
    crop = picture.warp(shift, Size(40, 40), as_float=dtype == np.uint16)
    picture.paste(crop, np.ones((40, 40), np.float32), shift)
    assert np.array_equal(picture.pixels, pixels)


def test_half_a_mask_gives_the_mean():
    picture = BgrPicture(np.full((20, 20, 3), 100, np.uint8))
    picture.paste(np.full((20, 20, 3), 201, np.uint8), np.full((20, 20), 0.25, np.float32), IDENTITY)
    assert set(np.unique(picture.pixels[1:-1, 1:-1])) == {125}


def test_ten_bits_stay_ten_bits():
    form = layout(2, 2, bits=10)
    ramp = np.linspace(300, 340, 64)[None, :].repeat(64, axis=0).round().astype(np.uint16)
    chroma = np.full((32, 32), 512, np.uint16)
    picture = YuvPicture((ramp.copy(), chroma.copy(), chroma.copy()), form)
    crop = picture.warp(IDENTITY, Size(64, 64), as_float=True)
    picture.paste(crop, np.ones((64, 64), np.float32), IDENTITY)
    assert np.array_equal(picture.planes[0], ramp)
    assert np.array_equal(picture.planes[1], chroma)


def test_grey_stays_grey():
    form = layout(1, 1, full=True)
    picture = yuv(smooth(64, 64), form, grey=True)
    assert picture.grey
    picture.paste(np.dstack([np.full((32, 32), v, np.uint8) for v in (10, 200, 90)]), disc(32, 14), IDENTITY)
    assert len(picture.planes) == 1
    back = picture.to_bgr()
    assert np.array_equal(back[..., 0], back[..., 1]) and np.array_equal(back[..., 0], back[..., 2])


def test_shrinking_averages_detail_instead_of_folding_it():
    board = (np.indices((256, 256)).sum(axis=0) % 2 * 255).astype(np.uint8)
    picture = BgrPicture(np.repeat(board[..., None], 3, axis=2))
    crop = picture.warp(np.array([[0.25, 0.0, 0.1], [0.0, 0.25, 0.1]]), Size(50, 50))
    assert np.abs(crop[2:-2, 2:-2].astype(int) - 127.5).max() <= 2.5


def test_the_border_is_repeated():
    pixels = np.zeros((40, 40, 3), np.uint8)
    pixels[:, :20] = 200
    crop = BgrPicture(pixels).warp(np.array([[1.0, 0.0, 30.0], [0.0, 1.0, 30.0]]), Size(50, 50))
    assert np.all(crop[:, :45] == 200)
    far = BgrPicture(pixels).warp(np.array([[1.0, 0.0, 900.0], [0.0, 1.0, 900.0]]), Size(8, 8))
    assert np.all(far == 200)


@pytest.mark.parametrize("size", [(24, 18), (200, 150)])
def test_thumbnail(size):
    pixels = smooth(96, 72)
    for picture in (yuv(pixels, layout()), BgrPicture(pixels)):
        thumb = picture.thumbnail(Size(*size))
        assert thumb.shape == (size[1], size[0], 3) and thumb.dtype == np.uint8
        expected = BgrPicture(pixels).warp(
            np.array([[size[0] / 96, 0, (size[0] / 96 - 1) / 2], [0, size[1] / 72, (size[1] / 72 - 1) / 2]]),
            Size(*size),
        )
        assert np.abs(thumb.astype(int) - expected)[4:-4, 4:-4].mean() < 1.5


def test_replacing_leaves_the_old_picture_and_scales_alpha():
    alpha = np.zeros((20, 30), np.uint8)
    alpha[:, 15:] = 255
    picture = BgrPicture(smooth(30, 20), alpha)
    bigger = picture.replaced_by(smooth(60, 40))
    assert bigger.size == (60, 40) and picture.size == (30, 20)
    assert bigger.alpha is not None and bigger.alpha.shape == (40, 60)
    assert bigger.alpha[0, 0] == 0 and bigger.alpha[-1, -1] == 255
