"""Proof of the way back into the frame: place, values, bounds and cost, in every format."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facefusion.core.values import Region, Size
from facefusion.vision import canvas, chroma, warp
from facefusion.vision.geometry import FACE_TEMPLATES, fit_template, invert, transform_points
from facefusion.vision.picture import CENTRE, BgrPicture, YuvPicture
from tests.vision.pictures import FORMS, disc, layout, turned, yuv

WIDTH, HEIGHT = 300, 240
ALL_FORMS = [*FORMS, layout(4, 1), layout(4, 4, siting=CENTRE), layout(2, 2, bits=12), layout(2, 1, bits=10)]
SIDE = 128


def waves(x, y):
    """A smooth scene: three channels of levels at any place, changing by at most eight levels a pixel."""
    return np.stack(
        (
            128 + 50 * np.sin(x / 15) * np.cos(y / 22),
            120 + 45 * np.sin(x / 31 + y / 13 + 1),
            135 + 40 * np.cos(x / 19 - y / 27 + 2),
        ),
        axis=-1,
    )


def grid(width, height):
    y, x = np.mgrid[:height, :width].astype(np.float64)
    return x, y


def scene():
    return waves(*grid(WIDTH, HEIGHT))


def fits():
    """Fits of a face anywhere within the frame onto a template: turned, larger or smaller, not quite in shape."""

    def fit(template, scale, angle, x, y, seed):
        middle = FACE_TEMPLATES[template].astype(np.float64) * SIDE
        place = transform_points(invert(turned(scale, angle, (x, y), SIDE)), middle)
        jitter = np.random.default_rng(seed).normal(0, 1.5 / scale, (5, 2))
        return fit_template((place + jitter).astype(np.float32), template, SIDE)

    return st.builds(
        fit,
        st.sampled_from(sorted(FACE_TEMPLATES)),
        st.floats(0.82, 1.22),
        st.floats(-3.2, 3.2),
        st.floats(120, 180),
        st.floats(100, 140),
        st.integers(0, 99),
    )


def bilinear(pixels, x, y):
    """Between the four nearest pixels, the border repeated; by the book."""
    height, width = pixels.shape[:2]
    left, top = np.floor(x).astype(int), np.floor(y).astype(int)
    across, down = (x - left)[..., None], (y - top)[..., None]

    def at(column, row):
        return pixels[np.clip(row, 0, height - 1), np.clip(column, 0, width - 1)].astype(np.float64)

    upper = at(left, top) * (1 - across) + at(left + 1, top) * across
    lower = at(left, top + 1) * (1 - across) + at(left + 1, top + 1) * across
    return upper * (1 - down) + lower * down


def there_and_back(pixels, mask, frame_to_crop):
    """What a paste of the unchanged crop must give, in plain arithmetic."""
    side = mask.shape[0]
    crop = bilinear(pixels, *transform_points(invert(frame_to_crop), np.stack(grid(side, side), -1)).transpose(2, 0, 1))
    x, y = transform_points(frame_to_crop, np.stack(grid(WIDTH, HEIGHT), -1)).transpose(2, 0, 1)
    bordered = np.pad(mask, 1)[..., None]
    share = np.where((x > -1) & (x < side) & (y > -1) & (y < side), bilinear(bordered, x + 1, y + 1)[..., 0], 0.0)[
        ..., None
    ]
    return pixels * (1 - share) + bilinear(crop, x, y) * share, share[..., 0]


@settings(max_examples=12)
@given(frame_to_crop=fits())
def test_an_unchanged_crop_comes_back_as_warping_there_and_back_gives(frame_to_crop):
    pixels = np.rint(scene()).astype(np.uint8)
    mask = disc(SIDE, 60, 20)
    wanted, share = there_and_back(pixels, mask, frame_to_crop)
    picture = BgrPicture(pixels.copy())
    picture.paste(picture.warp(frame_to_crop, Size(SIDE, SIDE)), mask, frame_to_crop)
    assert np.abs(picture.pixels - np.rint(wanted)).max() <= 1
    np.testing.assert_array_equal(picture.pixels[share == 0], pixels[share == 0])


@settings(max_examples=20)
@given(frame_to_crop=fits(), tint=st.tuples(*[st.integers(0, 255)] * 3))
def test_another_crop_is_laid_in_by_its_mask(frame_to_crop, tint):
    """What is pasted is the crop, whatever was there before: a flat colour shows nothing of it where the mask is 1."""
    pixels = np.rint(scene()).astype(np.uint8)
    mask = disc(SIDE, 60, 20)
    _, share = there_and_back(pixels, mask, frame_to_crop)
    picture = BgrPicture(pixels.copy())
    picture.paste(np.full((SIDE, SIDE, 3), tint, np.uint8), mask, frame_to_crop)
    wanted = pixels * (1 - share[..., None]) + np.array(tint) * share[..., None]
    assert np.abs(picture.pixels - wanted).max() <= 3
    assert (picture.pixels[share > 0.9999] == tint).all()


@settings(max_examples=20)
@given(
    scale=st.floats(0.35, 4.0),
    angle=st.floats(-3.2, 3.2),
    x=st.floats(130, 170),
    y=st.floats(105, 135),
    form=st.sampled_from([None, *ALL_FORMS]),
)
def test_a_scene_painted_into_the_crop_lies_in_the_frame_as_if_painted_there(scale, angle, x, y, form):
    """At any scale, turn and place the crop shows the same scene as the frame: pasting it changes next to nothing."""
    side = int(150 * scale) + 8
    frame_to_crop = turned(scale, angle, (x, y), side)
    places = transform_points(invert(frame_to_crop), np.stack(grid(side, side), -1)).transpose(2, 0, 1)
    crop, mask = waves(*places).astype(np.float32), disc(side, 70 * scale, 12 * scale)
    picture = (
        BgrPicture(np.rint(scene() * 257).astype(np.uint16)) if form is None else yuv(scene().astype(np.float32), form)
    )
    before = [picture.pixels.copy()] if isinstance(picture, BgrPicture) else [plane.copy() for plane in picture.planes]
    picture.paste(crop, mask, frame_to_crop)
    after = [picture.pixels] if isinstance(picture, BgrPicture) else picture.planes
    level = 257.0 if form is None else 2.0 ** (form.coding.bit_depth - 8)
    coarse = 1.0 if form is None else max(form.step_x, form.step_y)
    for index, (new, old) in enumerate(zip(after, before, strict=True)):
        # Between pixels that are 1 / scale apart, a line is this far below the waves at most; OpenCV's interpolation
        # knows 32 places between two pixels, which are up to six levels apart, and its cubic one, which enlarges, bends
        # a slope by a twentieth of a pixel of the crop.
        bend = 0.33 / 8 * (max(1.0, 1 / scale) ** 2 + 2 * coarse**2) + 2 * 6 / 64 + 4 * 0.05 / scale
        # Coding, averaging, laying and mixing each round by half a code; lowered chroma sums up some of that.
        rounding = 3.0 if index and coarse > 1 else 2.0
        assert np.abs(new.astype(float) - old).max() <= bend * level + rounding


@pytest.mark.parametrize("form", ALL_FORMS)
@pytest.mark.parametrize(
    ("offset", "frame"),
    [
        ((100, 60), Size(300, 240)),
        ((101, 60), Size(300, 240)),
        ((103, 63), Size(301, 241)),
        ((-21, -30), Size(300, 240)),
        ((200, 151), Size(301, 241)),
    ],
)
def test_an_unchanged_crop_at_its_own_scale_comes_back_to_rounding(form, offset, frame):
    """Colours that differ from sample to sample are the hard case: they must survive being read and written."""
    coding = form.coding
    step = 2 ** (coding.bit_depth - 8)
    random = np.random.default_rng(3)
    planes = []
    for index, (low, high) in enumerate(((110, 150), (108, 148), (108, 148))):
        size = form.plane_size(index, frame)
        planes.append(random.integers(low * step, high * step, size[::-1]).astype(coding.dtype))
    picture = YuvPicture([plane.copy() for plane in planes], form)
    frame_to_crop = np.array([[1.0, 0.0, -offset[0]], [0.0, 1.0, -offset[1]]])
    mask = np.zeros((SIDE, SIDE), np.float32)
    mask[12:-12, 12:-12] = 1
    picture.paste(picture.warp(frame_to_crop, Size(SIDE, SIDE), as_float=coding.bit_depth > 8), mask, frame_to_crop)
    subsampled = form.step_x * form.step_y > 1
    for index, (plane, old) in enumerate(zip(picture.planes, planes, strict=True)):
        difference = np.abs(plane.astype(int) - old)
        # Reading rounds what lies between samples; writing adds up to four of these roundings.
        assert difference.max() <= (2 if index and subsampled else 1)
        assert difference.mean() <= 0.1


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@settings(max_examples=20)
@given(left=st.integers(-40, 260), top=st.integers(-40, 200), seed=st.integers(0, 9))
def test_an_unchanged_crop_of_bgr_at_its_own_scale_comes_back_exactly_under_any_mask(dtype, left, top, seed):
    random = np.random.default_rng(seed)
    pixels = random.integers(0, np.iinfo(dtype).max, (HEIGHT, WIDTH, 3), dtype, endpoint=True)
    picture = BgrPicture(pixels.copy())
    frame_to_crop = np.array([[1.0, 0.0, -left], [0.0, 1.0, -top]])
    mask = random.random((64, 64)).astype(np.float32)
    picture.paste(picture.warp(frame_to_crop, Size(64, 64), as_float=dtype == np.uint16), mask, frame_to_crop)
    np.testing.assert_array_equal(picture.pixels, pixels)


@pytest.mark.parametrize(
    ("scale", "kept"),
    [
        (1.3, 0.85),
        (1.6, 0.9),
        (2.0, 0.93),
        (2.2, 0.94),
        (2.3, 0.75),
        (2.9, 0.85),
        (3.2, 0.87),
        (4.4, 0.92),
        (6.6, 0.87),
    ],
)
def test_a_crop_finer_than_the_frame_keeps_the_detail_that_the_frame_can_show(scale, kept):
    """Waves of four pixels of the frame, drawn into the crop, lie in the frame with most of their height."""
    across, shift = 2 * np.pi / 4, np.array((0.37, 0.21))
    x, y = grid(480, 480)
    crop = (128 + 100 * np.cos(across * (0.8 * (x / scale - shift[0]) + 0.6 * (y / scale - shift[1])))).astype(
        np.float32
    )
    side = int(480 / scale) - 2
    crop_to_frame = np.array([[1 / scale, 0, -shift[0]], [0, 1 / scale, -shift[1]]])
    laid = warp.spread([crop], crop_to_frame, Region(0, 0, side, side))[0][4:-4, 4:-4] - 128
    x, y = grid(side, side)
    wave = np.cos(across * (0.8 * x + 0.6 * y))[4:-4, 4:-4]
    assert kept <= (laid * wave).sum() / (wave * wave).sum() / 100 <= 1.01


@settings(max_examples=20)
@given(frame_to_crop=fits(), form=st.sampled_from([form for form in ALL_FORMS if form.coding.bit_depth > 8]))
def test_what_comes_back_lies_where_it_was(frame_to_crop, form):
    """The middle of a blob, in each plane, moves by less than a twentieth of a pixel on its way out and back."""
    middle = transform_points(invert(frame_to_crop), np.full(2, (SIDE - 1) / 2))
    x, y = grid(WIDTH, HEIGHT)
    blob = np.exp(-((x - middle[0]) ** 2 + (y - middle[1]) ** 2) / (2 * 14.0**2))
    picture = yuv((60 + blob[..., None] * (20, 150, 60)).astype(np.float32), form)
    before = [plane.copy() for plane in picture.planes]
    picture.paste(picture.warp(frame_to_crop, Size(SIDE, SIDE), as_float=True), disc(SIDE, 62, 4), frame_to_crop)
    for index, (new, old) in enumerate(zip(picture.planes, before, strict=True)):
        step = np.array((form.step_x, form.step_y) if index else (1, 1))
        assert (np.abs(centroid(new) - centroid(old)) * step < 0.05).all()


def centroid(plane):
    change = np.abs(plane.astype(float) - np.median(plane))
    weight = np.clip(change - 0.1 * change.max(), 0, None)
    x, y = grid(plane.shape[1], plane.shape[0])
    return np.array([(x * weight).sum(), (y * weight).sum()]) / weight.sum()


@settings(max_examples=12)
@given(frame_to_crop=fits(), form=st.sampled_from(ALL_FORMS))
def test_nothing_changes_that_the_mask_does_not_reach(frame_to_crop, form):
    picture = yuv(scene().astype(np.float32), form)
    before = [plane.copy() for plane in picture.planes]
    mask = disc(SIDE, 40, 4)
    picture.paste(np.full((SIDE, SIDE, 3), 255, np.uint8), mask, frame_to_crop)
    for index, (new, old) in enumerate(zip(picture.planes, before, strict=True)):
        places = transform_points(
            frame_to_crop @ np.vstack((invert(form.to_plane(index)), (0, 0, 1))),
            np.stack(grid(new.shape[1], new.shape[0]), -1),
        )
        distance = np.hypot(*(places - (SIDE - 1) / 2).transpose(2, 0, 1))
        reach = 1.5 * max(1.0, form.step_x, form.step_y) if index else 1.5
        np.testing.assert_array_equal(new[distance > 40 + reach * 1.3], old[distance > 40 + reach * 1.3])
        inside = distance < 34
        assert inside.any() and (new[inside] != old[inside]).mean() > 0.9


class Counting:
    """OpenCV, with the pixels counted that it was asked to write."""

    def __init__(self):
        self.pixels = 0

    def __getattr__(self, name):
        real = getattr(cv2, name)
        if name not in ("warpAffine", "resize", "sepFilter2D", "blendLinear", "transform"):
            return real

        def counted(*arguments, **named):
            result = real(*arguments, **named)
            self.pixels += result.shape[0] * result.shape[1]
            return result

        return counted


def work(monkeypatch, frame: Size, form, scale: float) -> int:
    """Pixels written by a paste over a region of the frame that is ``128 / scale`` pixels wide."""
    counting = Counting()
    for module in (warp, canvas, chroma):
        monkeypatch.setattr(module, "cv2", counting)
    planes = [np.full(form.plane_size(i, frame)[::-1], 100, form.coding.dtype) for i in range(3)]
    picture = YuvPicture(planes, form)
    picture.paste(np.zeros((SIDE, SIDE, 3), np.uint8), disc(SIDE, 60), turned(scale, 0.3, (300, 300), SIDE))
    monkeypatch.undo()
    return counting.pixels


@pytest.mark.parametrize("form", [layout(1, 1), layout(2, 2), layout(2, 2, bits=10)])
def test_the_cost_is_that_of_the_region(monkeypatch, form):
    small, large = (work(monkeypatch, size, form, 0.5) for size in (Size(600, 600), Size(2400, 1800)))
    assert small == large
    for scale in (1.0, 0.5, 0.25):
        region = (SIDE / scale) ** 2
        # Three planes and a mask or two, laid, mixed and filtered; enlarged first, where the crop is small.
        assert work(monkeypatch, Size(1200, 1200), form, scale) <= 20 * region


def test_the_counting_counts(monkeypatch):
    assert work(monkeypatch, Size(600, 600), layout(1, 1), 1.0) > SIDE * SIDE
