from __future__ import annotations

import numpy as np
import pytest

from facefusion.media.probe import probe
from facefusion.media.reader import VideoReader
from facefusion.vision.picture import YuvPicture
from tests.media.clips import decode, planes_of
from tests.media.odd_clips import make_moving, woven_picture

WOVEN = {"qp": "0", "g": "20", "flags": "+ildct+ilme"}
"""The encoder is told that the lower field is the earlier one, as nothing else is said of the frames."""


def yuv(picture):
    assert isinstance(picture, YuvPicture)
    return picture


def lumas(path, **options):
    info = probe(path)
    with VideoReader(info, threads=1, **options) as reader:
        return info, [yuv(frame.picture).planes[0].astype(int) for frame in reader], reader.damage


def combing(luma):
    """Mean of how much every row differs from the mean of the rows above and below it."""
    return np.abs(luma[1:-1] - (luma[:-2] + luma[2:]) / 2).mean()


@pytest.mark.parametrize("name", ["a.mp4", "a.ts"])
def test_interlaced_frames_become_whole_pictures(tmp_path, name):
    make_moving(tmp_path / name, options=WOVEN, count=20, size=(96, 64), picture=woven_picture)
    info, found, damage = lumas(tmp_path / name)
    assert info.interlaced
    assert info.notices == (
        f"{name} is interlaced: its frames are deinterlaced, one picture for each, and written progressive.",
    )
    assert len(found) == 20
    assert damage.notice is None
    for luma, frame in zip(found, decode(tmp_path / name), strict=True):
        woven = planes_of(frame)[0].astype(int)
        assert np.array_equal(luma[1::2], woven[1::2]), "the earlier field stays"
        assert combing(luma) < combing(woven) * 0.7


@pytest.mark.parametrize("pixel_format", ["yuv422p10le", "yuv420p"])
def test_depth_and_subsampling_are_kept(tmp_path, pixel_format):
    path = tmp_path / "a.mp4"
    make_moving(path, options=WOVEN, count=6, pixel_format=pixel_format, picture=woven_picture)
    with VideoReader(probe(path), threads=1) as reader:
        pictures = [yuv(frame.picture) for frame in reader]
    assert len(pictures) == 6
    for picture in pictures:
        assert picture.bit_depth == (10 if "10" in pixel_format else 8)
        assert picture.layout.step_y == (1 if "422" in pixel_format else 2)


def test_progressive_frames_among_interlaced_ones_pass_untouched(tmp_path):
    """Two streams of one kind put together, the second one progressive."""
    woven = make_moving(tmp_path / "a.ts", options=WOVEN, count=12, picture=woven_picture)
    plain = make_moving(tmp_path / "b.ts", options={"qp": "0", "g": "20"}, count=12)
    joined = tmp_path / "c.ts"
    joined.write_bytes(woven.read_bytes() + plain.read_bytes())
    _, alone, _ = lumas(plain)
    info, found, _ = lumas(joined)
    assert info.interlaced
    assert len(found) == 24
    assert all(np.array_equal(one, other) for one, other in zip(found[12:], alone, strict=True))


def test_interlaced_frames_that_come_later_are_deinterlaced_and_counted(tmp_path):
    plain = make_moving(tmp_path / "a.ts", options={"qp": "0", "g": "20"}, count=30)
    woven = make_moving(tmp_path / "b.ts", options=WOVEN, count=12, picture=woven_picture)
    joined = tmp_path / "c.ts"
    joined.write_bytes(plain.read_bytes() + woven.read_bytes())
    _, alone, _ = lumas(plain)
    _, apart, _ = lumas(woven)
    info, found, damage = lumas(joined)
    assert not info.interlaced
    assert len(found) == 42
    assert all(np.array_equal(one, other) for one, other in zip(found[:30], alone, strict=True))
    assert all(np.array_equal(one, other) for one, other in zip(found[31:], apart[1:], strict=True))
    assert damage.interlaced == 12
    assert damage.notice is not None
    assert "12 frames within are interlaced and were deinterlaced" in damage.notice
