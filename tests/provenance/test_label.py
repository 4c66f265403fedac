"""The label on pictures of every format: where it stands, that it can be read, and that all else stays."""

from __future__ import annotations

import numpy as np
import pytest

from facefusion.core.errors import OptionError, UsageError
from facefusion.core.values import Size
from facefusion.provenance.label import Label
from facefusion.provenance.label_settings import POSITIONS
from facefusion.vision.colour import Coding, Matrix
from facefusion.vision.dynamic_range import DynamicRange
from facefusion.vision.picture import BgrPicture, Layout, YuvPicture
from tests.vision.pictures import FORMS, layout, yuv

SIZE = (240, 160)
"""Columns and rows."""
TEXT = "AI, ja!"


def flat(value, size=SIZE):
    return np.full((size[1], size[0], 3), value, np.uint8)


def labelled(picture, text=TEXT, position="bottom-right", percent=10.0):
    return Label(text, position, percent).over(picture)


def changed(before, after):
    """Left, top, right and bottom of what is not as it was."""
    rows, columns = np.nonzero((np.asarray(before) != np.asarray(after)).any(axis=2))
    return columns.min(), rows.min(), columns.max() + 1, rows.max() + 1


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("size", [(240, 160), (161, 239)])
def test_it_stands_where_it_is_to_stand(position, size):
    ground = flat(255, size)
    left, top, right, bottom = changed(ground, labelled(BgrPicture(ground.copy()), position=position).to_bgr())
    margin = 8
    assert 24 < bottom - top < 40
    assert (top == margin) if position.startswith("top") else (bottom == size[1] - margin)
    if "left" in position:
        assert left == margin
    elif "right" in position:
        assert right == size[0] - margin
    else:
        assert abs(left + right - size[0]) <= 1


def contrast(pixels):
    """Of the brightest to what lies around, by WCAG 2.2; of a grey picture."""
    levels = np.sort(np.asarray(pixels, np.float64).mean(axis=2).ravel()) / 255
    light = np.where(levels <= 0.04045, levels / 12.92, ((levels + 0.055) / 1.055) ** 2.4)
    return (light[-1] + 0.05) / (np.median(light) + 0.05)


@pytest.mark.parametrize("ground", [0, 64, 128, 200, 255])
def test_it_can_be_read_on_bright_and_on_dark(ground):
    before = flat(ground)
    after = np.asarray(labelled(BgrPicture(before.copy()), percent=20.0).to_bgr())
    left, top, right, bottom = changed(before, after) if ground else (0, 0, *SIZE)
    box = after[top:bottom, left:right]
    assert box.max() == 255
    assert contrast(box) >= 4.5


@pytest.mark.parametrize("form", FORMS, ids=lambda form: f"{form.step_x}x{form.step_y} {form.coding.bit_depth} bits")
@pytest.mark.parametrize("grey", [False, True])
def test_it_is_the_same_in_every_format_and_leaves_the_rest_alone(form, grey):
    ground = flat(255)
    picture = yuv(ground, form, grey=grey)
    before = [plane.copy() for plane in picture.planes]
    after = labelled(picture)
    assert after is picture
    expected = np.asarray(labelled(BgrPicture(ground.copy())).to_bgr(), np.float32)
    assert np.abs(np.asarray(after.to_bgr(), np.float32) - expected).max() <= 3
    left, top, right, bottom = changed(ground, expected)
    for index, (old, new) in enumerate(zip(before, after.planes, strict=True)):
        step_x, step_y = (1, 1) if index == 0 else (form.step_x, form.step_y)
        outside = old != new
        outside[top // step_y : -(-bottom // step_y) + 1, left // step_x : -(-right // step_x) + 1] = False
        assert not outside[: (top // step_y) - 1].any()
        assert not outside[:, : (left // step_x) - 1].any()


@pytest.mark.parametrize("dynamic_range", [DynamicRange.PQ, DynamicRange.HLG])
def test_in_high_dynamic_range_its_white_is_that_of_paper(dynamic_range):
    form = Layout(Coding(Matrix.BT2020, False, 10, dynamic_range=dynamic_range), 2, 2)
    picture = YuvPicture(
        (np.full((160, 240), 64, np.uint16), *(np.full((80, 120), 512, np.uint16) for _ in "uv")), form
    )
    luma = labelled(picture, percent=20.0).planes[0].max()
    # Of a diffuse white (ITU-R BT.2408): 58 % of PQ, 75 % of HLG; the nominal peak would be 940.
    share = {DynamicRange.PQ: 0.58, DynamicRange.HLG: 0.75}[dynamic_range]
    assert luma == pytest.approx(64 + 876 * share, abs=20)


def test_a_transparent_picture_shows_it_all_the_same():
    ground = flat(255)
    alpha = np.zeros(SIZE[::-1], np.uint8)
    after = labelled(BgrPicture(ground.copy(), alpha))
    left, top, right, bottom = changed(ground, after.to_bgr())
    assert isinstance(after, BgrPicture)
    assert after.alpha is not None
    assert (after.alpha[top:bottom, left:right] == 255).all()
    assert after.alpha.sum() == 255 * (bottom - top) * (right - left)
    assert not alpha.any()
    deep = YuvPicture(yuv(ground, layout(bits=10)).planes, layout(bits=10), np.zeros(SIZE[::-1], np.uint16))
    shown = labelled(deep)
    assert isinstance(shown, YuvPicture)
    assert shown.alpha is not None
    assert np.array_equal(shown.alpha, after.alpha.astype(np.uint16) // 255 * 1023)


def test_its_letters_follow_the_shorter_side_and_give_way_to_the_width():
    def width(text, size, percent):
        ground = flat(255, size)
        left, _, right, _ = changed(ground, labelled(BgrPicture(ground.copy()), text, percent=percent).to_bgr())
        return right - left

    assert width("AI", (400, 200), 10) == width("AI", (200, 400), 10)
    assert width("AI", (800, 400), 10) == pytest.approx(2 * width("AI", (400, 200), 10), abs=3)
    long = "A sentence that is much too long for its size"
    assert 300 < width(long, (400, 200), 20) < 400


@pytest.mark.parametrize("size", [Size(40, 400), Size(400, 12), Size(1, 1)])
def test_a_picture_without_room_is_refused(size):
    label = Label("A sentence", "top", 4.0)
    with pytest.raises(UsageError) as refused:
        label.check(size)
    assert str(refused.value) == (
        f"--label 'A sentence' has no room in a picture of {size.width}x{size.height} in letters that can be read. "
        "Shorten it, or leave it out."
    )
    label.check(Size(400, 400))


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(OptionError) as refused:
        Label("ok ह\t", "top", 4.0)
    assert str(refused.value) == (
        "--label 'ok ह\\t': this cannot be drawn: ह (U+0939), U+0009. "
        "Use Latin, Greek, Cyrillic, Chinese, Japanese or Korean letters, with accents as one character."
    )


def test_a_text_that_nobody_would_read_is_refused():
    with pytest.raises(OptionError) as refused:
        Label("x" * 101, "top", 4.0)
    assert str(refused.value) == f"--label '{'x' * 101}': 101 characters are too many. Give at most 100."
    Label("x" * 100, "top", 20.0).check(Size(1920, 1080))
