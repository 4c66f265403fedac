"""Reading from the file itself which part of the stored picture is to be shown.

QuickTime and MP4 (ISO/IEC 14496-12) note a clean aperture, Matroska (RFC 9559) the rows and columns to cut.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

from facefusion.core.values import Size
from facefusion.media.cropping import Crop
from facefusion.media.ebml import VIDEO, Element, elements, number_in, tracks_of, video_tracks

HEADER_BYTES = 8
LARGE_BYTES = 8
"""Length of the size of a large box, after its header."""
SAMPLE_ENTRY_BYTES = 78
"""Length of what a sample entry of a video says before its boxes."""
APERTURE = struct.Struct(">8i")

PATH_TO_ENTRY = (b"mdia", b"minf", b"stbl", b"stsd")

LEFT, TOP, RIGHT, BOTTOM = 0x54CC, 0x54BB, 0x54DD, 0x54AA


class Box(NamedTuple):
    """A box of a file: where its contents lie."""

    kind: bytes
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


def _track_number(file: BinaryIO, box: Box) -> int | None:
    for header in _boxes(file, box.start, box.end, b"tkhd"):
        file.seek(header.start)
        data = file.read(24)
        (number,) = struct.unpack_from(">I", data, 20 if data[0] == 1 else 12)
        return int(number)
    return None


def _aperture_of(file: BinaryIO, box: Box, stored: Size) -> Crop | None:
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


def _boxes(file: BinaryIO, start: int, end: int, wanted: bytes | None = None) -> Iterator[Box]:
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
            yield Box(kind, body, stop)
        start = stop


def _matroska_crop(file: BinaryIO, end: int, number: int) -> Crop | None:
    tracks = tracks_of(file, end)
    if tracks is None:
        return None
    entry = next(islice(video_tracks(file, tracks), number, None), None)
    if entry is None:
        return None
    video = next((part for part in elements(file, entry.start, entry.end) if part.kind == VIDEO), None)
    return None if video is None else _crop_from(file, video)


def _crop_from(file: BinaryIO, video: Element) -> Crop:
    parts = {part.kind: part for part in elements(file, video.start, video.end)}
    sides = (number_in(file, parts[kind]) if kind in parts else 0 for kind in (LEFT, TOP, RIGHT, BOTTOM))
    return Crop(*sides)
