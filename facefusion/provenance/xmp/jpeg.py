"""JPEG: segments APP1 (XMP part 3, 1.1.3). What does not fit into one is in extended ones, with a name and places."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from facefusion.provenance.xmp.editing import Edit, cut, put
from facefusion.provenance.xmp.packet import LARGEST, BrokenPacketError, extension_of
from facefusion.provenance.xmp.scan import Scan

BEGIN = b"\xff\xd8"
XMP = b"http://ns.adobe.com/xap/1.0/\0"
EXTENSION = b"http://ns.adobe.com/xmp/extension/\0"
EXIF = b"Exif\0\0"
APP0, APP1, SCAN, END = 0xE0, 0xE1, 0xDA, 0xD9
ALONE = frozenset((0x01, *range(0xD0, 0xD8)))
"""Markers without contents."""
LONGEST = 65502
"""Bytes of a packet that fit into one segment."""
NAME = 32
"""Digits of an extension's name, the MD5 of all of it."""


class Segment(NamedTuple):
    """A segment before the picture's data."""

    marker: int
    start: int
    """Of the marker."""
    body: int
    end: int


def packets(scan: Scan) -> Iterator[bytes]:
    """The packet, and the extended one that belongs to it."""
    main: list[bytes] = []
    parts: dict[bytes, dict[int, bytes]] = {}
    room = LARGEST
    for segment in segments(scan):
        if segment.marker != APP1:
            continue
        body = scan.at(segment.body, segment.end - segment.body)
        if body.startswith(XMP):
            main.append(body[len(XMP) :])
        elif body.startswith(EXTENSION) and room >= len(body):
            room -= len(body)
            head = body[len(EXTENSION) :]
            _, place = struct.unpack_from(">II", head, NAME)
            parts.setdefault(head[:NAME], {})[place] = head[NAME + 8 :]
    yield from main
    for packet in main:
        try:
            name = extension_of(packet).encode()
        except BrokenPacketError:
            continue
        if name in parts:
            yield b"".join(part for _, part in sorted(parts[name].items()))


def segments(scan: Scan) -> Iterator[Segment]:
    """The segments from the beginning to the picture's data."""
    place = len(BEGIN)
    while True:
        scan.count()
        mark, marker = scan.at(place, 2)
        if mark != 0xFF:
            raise ValueError
        if marker == 0xFF:
            place += 1
            continue
        if marker in (SCAN, END):
            return
        body = place + 2
        if marker not in ALONE:
            (length,) = struct.unpack(">H", scan.at(body, 2))
            if length < 2:
                raise ValueError
            yield Segment(marker, place, body + 2, body + length)
            body += length
        place = body


def edits(scan: Scan, packet: bytes) -> list[Edit] | None:
    """What puts the packet in place of the one that the file has; none where it is too long for the format."""
    if len(packet) > LONGEST:
        return None
    found, place = [], len(BEGIN)
    for segment in segments(scan):
        head = scan.at(segment.body, min(len(EXTENSION), segment.end - segment.body))
        if segment.marker == APP1 and head.startswith((XMP, EXTENSION)):
            found.append(cut(segment.start, segment.end))
        elif segment.marker == APP0 or (segment.marker == APP1 and head.startswith(EXIF)):
            place = segment.end  # programs look for these first
    body = XMP + packet
    return [*found, put(place, struct.pack(">BBH", 0xFF, APP1, 2 + len(body)) + body)]
