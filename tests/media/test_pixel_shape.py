"""Pixels that are not square, in every container."""

from __future__ import annotations

import zlib
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from facefusion.core.report import NotKept
from facefusion.core.stop import StopToken
from facefusion.core.values import Size
from facefusion.media.container import CONTAINERS
from facefusion.media.ebml import (
    CLUSTER,
    SEGMENT,
    TRACK_ENTRY,
    TRACK_TYPE,
    TRACKS,
    VIDEO,
    coded,
    coded_number,
    contents,
    elements,
    tracks_of,
)
from facefusion.media.encoder import EncoderSettings
from facefusion.media.join import join_videos
from facefusion.media.pixel_shape import CHECKSUM, write_pixel_shape
from facefusion.media.probe import probe
from tests.media.clips import decode, make_clip, planes_of, times_of
from tests.media.writing import transcode

ASPECT = Fraction(64, 45)
"""Of European television, shown at 16:9."""

PAIRS = [
    (suffix, encoder)
    for suffix, container in CONTAINERS.items()
    for encoder in ("libx264", "libx265", "libvpx-vp9", "libsvtav1")
    if container.encoder_for(encoder) == encoder
]

VP9 = EncoderSettings(encoder="libvpx-vp9", preset="ultrafast", threads=1)


def with_title(source: Path, path: Path, title: str) -> Path:
    """A copy whose picture has a name."""
    with av.open(str(source)) as old, av.open(str(path), "w") as new:
        pairs = {stream.index: new.add_stream_from_template(stream, opaque=True) for stream in old.streams}
        pairs[0].metadata["title"] = title
        for packet in old.demux():
            if packet.size:
                packet.stream = pairs[packet.stream.index]
                new.mux(packet)
    return path


@pytest.mark.parametrize(("suffix", "encoder"), PAIRS)
def test_pixels_keep_their_shape_or_it_is_said(tmp_path, suffix, encoder):
    source, target = tmp_path / "a.mp4", tmp_path / f"b{suffix}"
    make_clip(source, aspect=ASPECT)
    notices = transcode(source, target, EncoderSettings(encoder=encoder, preset="ultrafast", threads=1))
    said = (
        "The output's container cannot tell that pixels of a.mp4 are 1.422 times as wide as high; players show them "
        "square."
    )
    if suffix == ".avi" and encoder in ("libvpx-vp9", "libsvtav1"):
        assert probe(target).sample_aspect == 1
        assert said in [notice for notice in notices if isinstance(notice, NotKept)]
    else:
        assert abs(probe(target).sample_aspect / ASPECT - 1) < Fraction(1, 200)  # widths are whole pixels
        assert said not in notices


@pytest.mark.parametrize("aspect", [ASPECT, Fraction(1, 3), Fraction(3)])
@pytest.mark.parametrize("suffix", [".mkv", ".webm"])
def test_the_file_is_whole_and_shown_at_that_size(tmp_path, suffix, aspect):
    source, target, square = tmp_path / "a.mp4", tmp_path / f"b{suffix}", tmp_path / f"c{suffix}"
    make_clip(source, aspect=aspect, audio=("aac",))
    transcode(source, target, VP9)
    make_clip(source, audio=("aac",))
    transcode(source, square, VP9)
    info = probe(target)
    assert round(info.size.width * info.sample_aspect) == round(96 * aspect)
    assert times_of(target) == times_of(square)
    for one, other in zip(decode(target), decode(square), strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(planes_of(one), planes_of(other), strict=True))
    with target.open("rb") as file:
        tracks = tracks_of(file, target.stat().st_size)
        assert tracks is not None
        first = next(elements(file, tracks.start, tracks.end))
        assert (first.kind == CHECKSUM) == (suffix == ".mkv")
        file.seek(first.end)
        total = zlib.crc32(file.read(tracks.end - first.end)).to_bytes(4, "little")
        assert first.kind != CHECKSUM or contents(file, first) == total


@pytest.mark.parametrize("title", ["", "Main ünit", "x" * 120, "x" * 200])
def test_the_name_of_the_track_stays_what_it_was(tmp_path, title):
    make_clip(tmp_path / "a.mp4", aspect=ASPECT)
    source = with_title(tmp_path / "a.mp4", tmp_path / "a.mkv", title)
    transcode(source, tmp_path / "b.mkv", VP9)
    with av.open(str(tmp_path / "b.mkv")) as container:
        assert container.streams.video[0].metadata.get("title", "") == title
    assert probe(tmp_path / "b.mkv").sample_aspect == Fraction(137, 96)


def test_joined_videos_keep_the_shape(tmp_path):
    source, parts = tmp_path / "a.mp4", [tmp_path / "b.webm", tmp_path / "c.webm"]
    make_clip(source, aspect=ASPECT, audio=("aac",))
    for part in parts:
        transcode(source, part, VP9)
    join_videos(parts, tmp_path / "d.webm", StopToken())
    assert probe(tmp_path / "d.webm").sample_aspect == Fraction(137, 96)
    assert len(times_of(tmp_path / "d.webm")) == 16


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"\xa3", "is no Matroska file"),
        (b"no such file", "describes no video"),
        (coded(SEGMENT, coded(TRACKS, b"")), "describes no video"),
        (coded(SEGMENT, coded(CLUSTER, b"")), "describes no video"),
        (
            coded(SEGMENT, coded(TRACKS, coded(TRACK_ENTRY, coded_number(TRACK_TYPE, 1) + coded(VIDEO, b"")))),
            "no room was left for the shape of the pixels",
        ),
    ],
)
def test_a_file_without_room_for_the_shape_is_left_alone(tmp_path, data, fault):
    path = tmp_path / "a.mkv"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=fault):
        write_pixel_shape(path, Size(96, 64), ASPECT)
    assert path.read_bytes() == data


@pytest.mark.parametrize("length", [0, 1, 126, 127, 16382, 16383])
def test_elements_are_read_as_they_were_written(tmp_path, length):
    path = tmp_path / "a"
    path.write_bytes(coded(0xEC, bytes(length)) + coded(0x54B0, b"\x02"))
    with path.open("rb") as file:
        void, width = elements(file, 0, path.stat().st_size)
        assert (void.kind, void.end - void.start) == (0xEC, length)
        assert (width.kind, contents(file, width)) == (0x54B0, b"\x02")
