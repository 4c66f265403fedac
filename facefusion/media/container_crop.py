"""Reading from the file itself which part of the stored picture is to be shown.

QuickTime and MP4 (ISO/IEC 14496-12) note a clean aperture, Matroska (RFC 9559) the rows and columns to cut.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import BinaryIO, NamedTuple

from facefusion.core.values import Size
from facefusion.media.cropping import Crop

HEADER_BYTES = 8
LARGE_BYTES = 8
"""Length of the size of a large box, after its header."""
SAMPLE_ENTRY_BYTES = 78
"""Length of what a sample entry of a video says before its boxes."""
APERTURE = struct.Struct(">8i")

PATH_TO_ENTRY = (b"mdia", b"minf", b"stbl", b"stsd")

SEGMENT, TRACKS, CLUSTER = 0x18538067, 0x1654AE6B, 0x1F43B675
TRACK_ENTRY, TRACK_TYPE, VIDEO = 0xAE, 0x83, 0xE0
LEFT, TOP, RIGHT, BOTTOM = 0x54CC, 0x54BB, 0x54DD, 0x54AA
VIDEO_TYPE = 1


class Part(NamedTuple):
    """A box or an element of a file: where its contents lie."""

    kind: bytes | int
    start: int
    end: int


def container_crop(path: Path, container: str, *, track: int, number: int, stored: Size) -> Crop | None:
    """What the container says is cut off; none where it says nothing, or nothing that makes sense.

    Args:
        path: the file.
        container: FFmpeg's name of its format.
        track: the track's number in the file, for MP4 and QuickTime.
        number: of the video among those of the file, from 0, for Matroska.
        stored: size of the decoded pictures.
    """
    names = container.split(",")
    try:
        with path.open("rb") as file:
            end = path.stat().st_size
            if "mov" in names:
                crop = _clean_aperture(file, end, track, stored)
            elif "matroska" in names:
                crop = _matroska_crop(file, end, number)
            else:
                return None
    except (struct.error, IndexError):  # a broken header; decoding tells what is wrong with the file
        return None
    return crop if crop is not None and crop.fits(stored) else None


def _clean_aperture(file: BinaryIO, end: int, track: int, stored: Size) -> Crop | None:
    for movie in _boxes(file, 0, end, b"moov"):
        for box in _boxes(file, movie.start, movie.end, b"trak"):
            if _track_number(file, box) == track:
                return _aperture_of(file, box, stored)
    return None


def _track_number(file: BinaryIO, box: Part) -> int | None:
    for header in _boxes(file, box.start, box.end, b"tkhd"):
        file.seek(header.start)
        data = file.read(24)
        (number,) = struct.unpack_from(">I", data, 20 if data[0] == 1 else 12)
        return int(number)
    return None


def _aperture_of(file: BinaryIO, box: Part, stored: Size) -> Crop | None:
    for kind in PATH_TO_ENTRY:
        inner = next(_boxes(file, box.start, box.end, kind), None)
        if inner is None:
            return None
        box = inner
    entry = next(_boxes(file, box.start + 8, box.end), None)
    if entry is None:
        return None
    for aperture in _boxes(file, entry.start + SAMPLE_ENTRY_BYTES, entry.end, b"clap"):
        file.seek(aperture.start)
        numbers = APERTURE.unpack(file.read(APERTURE.size))
        if 0 in numbers[1::2]:
            return None
        width, height, x, y = (Fraction(top, bottom) for top, bottom in zip(numbers[::2], numbers[1::2], strict=True))
        left, top = round((stored.width - width) / 2 + x), round((stored.height - height) / 2 + y)
        return Crop(left, top, stored.width - left - round(width), stored.height - top - round(height))
    return None


def _boxes(file: BinaryIO, start: int, end: int, wanted: bytes | None = None) -> Iterator[Part]:
    """The boxes between two places, or those of one kind."""
    while start + HEADER_BYTES <= end:
        file.seek(start)
        size, kind = struct.unpack(">I4s", file.read(HEADER_BYTES))
        body = start + HEADER_BYTES
        if size == 1:
            (size,) = struct.unpack(">Q", file.read(LARGE_BYTES))
            body += LARGE_BYTES
        stop = end if size == 0 else start + size
        if stop < body or stop > end:
            return
        if wanted in (None, kind):
            yield Part(kind, body, stop)
        start = stop


def _matroska_crop(file: BinaryIO, end: int, number: int) -> Crop | None:
    for segment in _elements(file, 0, end):
        if segment.kind != SEGMENT:
            continue
        for tracks in _elements(file, segment.start, segment.end):
            if tracks.kind == CLUSTER:
                return None
            if tracks.kind == TRACKS:
                return _crop_of_video(file, tracks, number)
    return None


def _crop_of_video(file: BinaryIO, tracks: Part, number: int) -> Crop | None:
    for entry in _elements(file, tracks.start, tracks.end):
        if entry.kind != TRACK_ENTRY:
            continue
        parts = {part.kind: part for part in _elements(file, entry.start, entry.end)}
        if TRACK_TYPE not in parts or _number(file, parts[TRACK_TYPE]) != VIDEO_TYPE:
            continue
        if number == 0:
            video = parts.get(VIDEO)
            return None if video is None else _crop_from(file, video)
        number -= 1
    return None


def _crop_from(file: BinaryIO, video: Part) -> Crop:
    parts: Mapping[bytes | int, Part] = {part.kind: part for part in _elements(file, video.start, video.end)}
    sides = (_number(file, parts[kind]) if kind in parts else 0 for kind in (LEFT, TOP, RIGHT, BOTTOM))
    return Crop(*sides)


def _elements(file: BinaryIO, start: int, end: int) -> Iterator[Part]:
    """The EBML elements between two places; one of unknown size reaches to the end."""
    while start < end:
        file.seek(start)
        head = file.read(12)
        kind, used = _variable(head, 0, keeps_marker=True)
        size, length = _variable(head, used, keeps_marker=False)
        body = start + used + length
        stop = end if size == (1 << 7 * length) - 1 else body + size
        yield Part(kind, body, min(stop, end))
        start = stop


def _variable(data: bytes, place: int, *, keeps_marker: bool) -> tuple[int, int]:
    """A number of variable length, and how many bytes it takes."""
    length = 9 - data[place].bit_length()
    value = int.from_bytes(data[place : place + length], "big")
    return (value if keeps_marker else value & ((1 << 7 * length) - 1)), length


def _number(file: BinaryIO, part: Part) -> int:
    file.seek(part.start)
    return int.from_bytes(file.read(part.end - part.start), "big")
