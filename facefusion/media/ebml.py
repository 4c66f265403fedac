"""The elements that Matroska and WebM files are made of (EBML, RFC 8794; Matroska, RFC 9559)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

SEGMENT, TRACKS, CLUSTER = 0x18538067, 0x1654AE6B, 0x1F43B675
TRACK_ENTRY, TRACK_TYPE, VIDEO = 0xAE, 0x83, 0xE0
VIDEO_TYPE = 1

HEAD_BYTES = 12
"""The longest kind and size of an element."""


class Element(NamedTuple):
    """An element of a file: where its contents lie."""

    kind: int
    start: int
    end: int


def elements(file: BinaryIO, start: int, end: int) -> Iterator[Element]:
    """The elements between two places of a file; one of unknown size reaches to the end.

    Raises:
        IndexError: what is there is no element.
    """
    while start < end:
        file.seek(start)
        head = file.read(HEAD_BYTES)
        kind, used = _variable(head, 0, keeps_marker=True)
        size, length = _variable(head, used, keeps_marker=False)
        body = start + used + length
        stop = end if size == (1 << 7 * length) - 1 else body + size
        yield Element(kind, body, min(stop, end))
        start = stop


def tracks_of(file: BinaryIO, end: int) -> Element | None:
    """The element that describes the tracks; none where no such element comes before the first pictures.

    Raises:
        IndexError: the file is broken.
    """
    for segment in elements(file, 0, end):
        if segment.kind != SEGMENT:
            continue
        for part in elements(file, segment.start, segment.end):
            if part.kind == CLUSTER:
                return None
            if part.kind == TRACKS:
                return part
    return None


def video_tracks(file: BinaryIO, tracks: Element) -> Iterator[Element]:
    """The tracks of moving pictures, in the order of the file.

    Raises:
        IndexError: the file is broken.
    """
    for entry in elements(file, tracks.start, tracks.end):
        if entry.kind != TRACK_ENTRY:
            continue
        parts = {part.kind: part for part in elements(file, entry.start, entry.end)}
        if TRACK_TYPE in parts and number_in(file, parts[TRACK_TYPE]) == VIDEO_TYPE:
            yield entry


def contents(file: BinaryIO, element: Element) -> bytes:
    """What an element holds."""
    file.seek(element.start)
    return file.read(element.end - element.start)


def number_in(file: BinaryIO, element: Element) -> int:
    """The whole number that an element holds."""
    return int.from_bytes(contents(file, element), "big")


def coded(kind: int, data: bytes) -> bytes:
    """An element as it lies in a file."""
    length = -(-(len(data) + 1).bit_length() // 7)  # a size of all ones would mean that it is unknown
    size = len(data) | 1 << 7 * length
    return kind.to_bytes((kind.bit_length() + 7) // 8, "big") + size.to_bytes(length, "big") + data


def coded_number(kind: int, number: int) -> bytes:
    """An element that holds a whole number of at least 0."""
    return coded(kind, number.to_bytes(max((number.bit_length() + 7) // 8, 1), "big"))


def _variable(data: bytes, place: int, *, keeps_marker: bool) -> tuple[int, int]:
    """A number of variable length, and how many bytes it takes."""
    length = 9 - data[place].bit_length()
    value = int.from_bytes(data[place : place + length], "big")
    return (value if keeps_marker else value & ((1 << 7 * length) - 1)), length
