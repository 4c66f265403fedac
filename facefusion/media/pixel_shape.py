"""Telling in a Matroska or WebM file that its pixels are not square.

FFmpeg's muxer takes the shape of pixels from a field of the stream that PyAV does not reach. H.264 and HEVC tell it in
headers of their own; for VP9 and AV1 the file is the only place, and without it a picture is shown squeezed. So room is
left in the header before it is written, in the name of the track, and the shape is put there once the file is complete.
"""

from __future__ import annotations

import zlib
from fractions import Fraction
from pathlib import Path
from typing import BinaryIO

import av
from av.video.stream import VideoStream

from facefusion.core.values import Size
from facefusion.media.ebml import VIDEO, Element, coded, coded_number, contents, elements, tracks_of, video_tracks

MUXERS = frozenset(("matroska", "webm"))

NAME, VOID, CHECKSUM = 0x536E, 0xEC, 0xBF
WIDTH, HEIGHT, UNIT = 0x54B0, 0x54BA, 0x54B2
"""How large a picture is shown; in pixels, where no unit is named. FFmpeg names the unit 'unknown' in Matroska."""

ROOM = 32
"""Bytes for two numbers with their heads, a longer head of what holds them, and what fills the rest."""

ROUNDING = Fraction(1, 100)
"""What shape a picture may lose to sizes in whole pixels without a word."""


def leave_room(stream: VideoStream) -> None:
    """Leave room for the shape of the pixels. Before the header is written, and after the track got its name."""
    stream.metadata["title"] = stream.metadata.get("title", "") + " " * ROOM


def keeps_shape(path: Path, aspect: Fraction) -> bool:
    """Whether players learn from a complete file that a pixel is so much wider than high.

    Raises:
        av.FFmpegError: the file cannot be read.
    """
    with av.open(str(path.absolute())) as container:
        told = container.streams.video[0].sample_aspect_ratio or Fraction(1)
    return abs(told / aspect - 1) < ROUNDING


def write_pixel_shape(path: Path, size: Size, aspect: Fraction) -> None:
    """Say in a complete file how its first video is to be shown.

    As in the files of FFmpeg's own program, the height stays and the width is rounded to whole pixels.

    Args:
        path: the file, for whose first video :func:`leave_room` was called.
        size: of its pictures.
        aspect: width over height of a pixel.

    Raises:
        OSError: the file cannot be written to.
        ValueError: there is no room in it.
    """
    with path.open("r+b") as file:
        try:
            tracks = tracks_of(file, path.stat().st_size)
            entry = next(video_tracks(file, tracks), None) if tracks is not None else None
        except IndexError as error:
            raise ValueError(f"{path} is no Matroska file") from error
        if tracks is None or entry is None:
            raise ValueError(f"{path} describes no video")
        shown = coded_number(WIDTH, max(round(size.width * aspect), 1)) + coded_number(HEIGHT, size.height)
        written = _with_shape(file, entry, shown)
        file.seek(entry.start)
        file.write(written)
        _renew_checksum(file, tracks)


def _with_shape(file: BinaryIO, entry: Element, shown: bytes) -> bytes:
    """The contents of a track with its shape in place of the room, as long as before."""
    written = b""
    for part in elements(file, entry.start, entry.end):
        data = contents(file, part)
        if part.kind == VIDEO:
            facts = [fact for fact in elements(file, part.start, part.end) if fact.kind not in (WIDTH, HEIGHT, UNIT)]
            data = b"".join(coded(fact.kind, contents(file, fact)) for fact in facts) + shown
        elif part.kind == NAME:
            data = data.removesuffix(b" " * ROOM)
        written += b"" if part.kind == NAME and not data else coded(part.kind, data)
    left = entry.end - entry.start - len(written) - len(coded(VOID, b""))
    if left < 0:
        raise ValueError("no room was left for the shape of the pixels")
    return written + coded(VOID, bytes(left))


def _renew_checksum(file: BinaryIO, tracks: Element) -> None:
    """The sum over all that follows it in the element, where there is one (RFC 8794, 11.3.1)."""
    first = next(elements(file, tracks.start, tracks.end))
    if first.kind == CHECKSUM:
        file.seek(first.end)
        total = zlib.crc32(file.read(tracks.end - first.end))
        file.seek(first.start)
        file.write(total.to_bytes(first.end - first.start, "little"))
