"""Parts of the stored picture that the container does not want shown."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from facefusion.core.values import Size
from facefusion.media.cropping import Crop
from facefusion.media.probe import probe
from facefusion.media.reader import VideoReader
from facefusion.vision.picture import YuvPicture
from tests.media.clips import make_clip

ENTRY = [b"moov", b"trak", b"mdia", b"minf", b"stbl", b"stsd", b"avc1"]


def with_aperture(path, numbers):
    """Write a clean aperture into an MP4 file whose index lies behind the pictures."""
    data = bytearray(path.read_bytes())
    box = struct.pack(">I4s8i", 40, b"clap", *numbers)
    start, end, sizes = 0, len(data), []
    for kind in ENTRY:
        while data[start + 4 : start + 8] != kind:
            start += struct.unpack_from(">I", data, start)[0]
        end = start + struct.unpack_from(">I", data, start)[0]
        sizes.append(start)
        start += 16 if kind == b"stsd" else 8
    data[end:end] = box
    for place in sizes:
        struct.pack_into(">I", data, place, struct.unpack_from(">I", data, place)[0] + len(box))
    path.write_bytes(data)


def with_matroska_crop(path, left, top):
    """Write rows and columns to cut over two numbers of as many bytes that a player does without."""
    data = path.read_bytes()
    unit = data.index(b"\x54\xb2\x81")  # the last of what is said of the video, of the track's numbers one follows
    assert data[unit + 4 : unit + 7] == b"\x55\xee\x81"
    video = data.rindex(b"\xe0", 0, unit)
    length = data[video + 1] & 0x7F
    assert video + 2 + length == unit + 4
    crop = b"\x54\xcc\x81" + bytes([left]) + b"\x54\xbb\x81" + bytes([top])
    path.write_bytes(data[: video + 1] + bytes([0x80 | length + 4]) + data[video + 2 : unit] + crop + data[unit + 8 :])


def read(path):
    info = probe(path)
    with VideoReader(info, threads=1) as reader:
        frames = list(reader)
    for frame in frames:
        assert isinstance(frame.picture, YuvPicture)
    return info, [frame.picture for frame in frames if isinstance(frame.picture, YuvPicture)]


def test_a_clean_aperture_is_what_is_shown(tmp_path):
    path = tmp_path / "a.mp4"
    pictures = make_clip(path, width=96, height=64)
    with_aperture(path, (80, 1, 40, 1, -4, 1, 6, 1))
    info, found = read(path)
    assert info.crop == Crop(left=4, top=18, right=12, bottom=6)
    assert (info.size, info.coded_size) == ((80, 40), (80, 40))
    assert info.notices == ("a.mp4 shows a part of its stored pictures only: the rest is cropped, as players do.",)
    for picture, (luma, blue, red) in zip(found, pictures, strict=True):
        assert np.array_equal(picture.planes[0], luma[18:58, 4:84])
        assert np.array_equal(picture.planes[1], blue[9:29, 2:42])
        assert np.array_equal(picture.planes[2], red[9:29, 2:42])


def test_writing_into_a_cropped_frame_stays_within_it(tmp_path):
    path = tmp_path / "a.mp4"
    make_clip(path, width=96, height=64)
    with_aperture(path, (80, 1, 40, 1, -4, 1, 6, 1))
    _, found = read(path)
    before = [plane.copy() for plane in found[2].planes]
    here = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    found[2].paste(np.zeros((40, 80, 3), np.uint8), np.ones((40, 80), np.float32), here)
    assert found[2].planes[0].max() <= 17
    found[2].rollback()
    assert all(np.array_equal(plane, want) for plane, want in zip(found[2].planes, before, strict=True))


@pytest.mark.parametrize(
    "numbers",
    [
        (96, 1, 64, 1, 0, 1, 0, 1),  # all of it
        (80, 0, 40, 1, 0, 1, 0, 1),  # no number
        (200, 1, 40, 1, 0, 1, 0, 1),  # more than there is
        (80, 1, 40, 1, 90, 1, 0, 1),  # beside it
    ],
)
def test_an_aperture_that_cuts_nothing_or_makes_no_sense_is_left_aside(tmp_path, numbers):
    path = tmp_path / "a.mp4"
    make_clip(path, width=96, height=64, stamps=(0, 512))
    with_aperture(path, numbers)
    info, found = read(path)
    assert info.crop is None
    assert info.size == (96, 64)
    assert [picture.size for picture in found] == [(96, 64)] * 2


def test_matroska_cropping_is_applied(tmp_path):
    path = tmp_path / "a.mkv"
    pictures = make_clip(path, width=96, height=64)
    with_matroska_crop(path, 8, 6)
    info, found = read(path)
    assert info.crop == Crop(left=8, top=6)
    assert info.size == (88, 58)
    for picture, planes in zip(found, pictures, strict=True):
        assert np.array_equal(picture.planes[0], planes[0][6:, 8:])
        assert np.array_equal(picture.planes[1], planes[1][3:, 4:])


def test_a_crop_begins_at_whole_samples_of_chroma():
    crop = Crop(left=3, top=5, right=7, bottom=1)
    assert crop.on_samples("yuv420p") == Crop(left=2, top=4, right=7, bottom=1)
    assert crop.on_samples("yuv422p") == Crop(left=2, top=5, right=7, bottom=1)
    assert crop.on_samples("yuv444p10le") == crop
    assert crop.size_of(Size(100, 50)) == (90, 44)


def test_turning_comes_after_cropping(tmp_path):
    path = tmp_path / "a.mp4"
    pictures = make_clip(path, width=96, height=64, rotation=90, stamps=(0, 512))
    with_aperture(path, (80, 1, 40, 1, -4, 1, 6, 1))
    info, found = read(path)
    assert info.size == (40, 80)
    assert np.array_equal(found[0].planes[0], info.orientation.apply(pictures[0][0][18:58, 4:84]))
