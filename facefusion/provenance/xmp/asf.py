"""Windows Media: an object of its own behind the pictures (XMP part 3, 1.2.1; Advanced Systems Format, 01.20.06)."""

from __future__ import annotations

import struct
import uuid
from collections.abc import Iterator
from typing import NamedTuple

from facefusion.provenance.xmp.editing import Edit, cut, put
from facefusion.provenance.xmp.scan import Scan

BEGIN = uuid.UUID("75b22630-668e-11cf-a6d9-00aa0062ce6c").bytes_le
"""The header object."""
FILE_PROPERTIES = uuid.UUID("8cabdca1-a947-11cf-8ee4-00c00c205365").bytes_le
XMP = uuid.UUID("be7acfcb-97a9-42e8-9c71-999491e3afac")
NAMES = (XMP.bytes_le, XMP.bytes)
"""The format writes such names little-endian, the first of these; some programs write XMP's as they print it."""
HEAD = 24
"""Bytes of an object's name and length."""
HEADER_HEAD = 30
FILE_SIZE = 16
"""Where a file's properties tell its length."""


class _Object(NamedTuple):
    name: bytes
    start: int
    body: int
    end: int


def packets(scan: Scan) -> Iterator[bytes]:
    """The packets."""
    for found in _objects(scan, 0, scan.size):
        if found.name in NAMES:
            yield scan.at(found.body, found.end - found.body)


def edits(scan: Scan, packet: bytes) -> list[Edit]:
    """What puts the packet behind all that is there, in place of the one that the file has."""
    found = list(_objects(scan, 0, scan.size))
    made = [cut(one.start, one.end) for one in found if one.name in NAMES]
    made.append(put(found[-1].end, NAMES[0] + struct.pack("<Q", HEAD + len(packet)) + packet))
    grown = sum(len(one.data) - (one.end - one.start) for one in made)
    for one in _objects(scan, HEADER_HEAD, found[0].end):
        if one.name == FILE_PROPERTIES:
            place = one.body + FILE_SIZE
            made.append(Edit(place, place + 8, struct.pack("<Q", scan.size + grown)))
    return made


def _objects(scan: Scan, place: int, end: int) -> Iterator[_Object]:
    while place + HEAD <= end:
        scan.count()
        name, length = struct.unpack("<16sQ", scan.at(place, HEAD))
        if length < HEAD:
            raise ValueError
        yield _Object(name, place, place + HEAD, min(place + length, end))
        place += length
