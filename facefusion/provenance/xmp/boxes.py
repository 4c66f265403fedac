"""Files made of boxes (ISO/IEC 14496-12): MP4, QuickTime, HEIC, AVIF, JPEG 2000, JPEG XL.

A packet is in a box of its own, in the user data of a QuickTime movie, or an item of an image file (XMP part 3, 1.1.4,
1.2.3 and 1.2.4; ISO/IEC 23008-12, annex A).
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Iterator
from typing import NamedTuple

from facefusion.media.image.box_file import FULL_BOX, Box, boxes
from facefusion.provenance.xmp.scan import Scan

XMP_UUID = uuid.UUID("be7acfcb-97a9-42e8-9c71-999491e3afac").bytes
XMP_BOX = b"XMP_"
XMP_TYPE = b"application/rdf+xml"
TYPES = frozenset((b"ftyp", b"moov", b"mdat", b"free", b"skip", b"wide", b"styp", b"jP  ", b"JXL ", b"pnot", b"uuid"))
"""With which such files begin."""
LONGEST_META = 1 << 24
CONSTRUCTED_IN_FILE, CONSTRUCTED_IN_BOX = 0, 1
"""Where the extents of an item lie: in the file, or in the ``idat`` box beside their list."""


class Located(NamedTuple):
    """A box of a file."""

    kind: bytes
    start: int
    body: int
    end: int


def packets(scan: Scan) -> Iterator[bytes]:
    """The packets, wherever they are."""
    for box in top(scan):
        if box.kind == b"uuid":
            yield from _owned(scan, box)
        elif box.kind == b"xml ":
            yield scan.at(box.body, box.end - box.body)
        elif box.kind == b"meta":
            yield from _items(scan, box)
        elif box.kind == b"moov":
            yield from _in_movie(scan, box)


def top(scan: Scan) -> Iterator[Located]:
    """The boxes of the file; a last one may break off."""
    return inside(scan, 0, scan.size)


def inside(scan: Scan, place: int, end: int) -> Iterator[Located]:
    """The boxes between two places."""
    while place + 8 <= end:
        scan.count()
        size, kind = struct.unpack(">I4s", scan.at(place, 8))
        head = 8
        if size == 1:
            head, (size,) = 16, struct.unpack(">Q", scan.at(place + 8, 8))
        stop = end if size == 0 else place + size
        if stop < place + head:
            return
        yield Located(kind, place, place + head, min(stop, end))
        place = stop


def is_packet_box(scan: Scan, box: Located) -> bool:
    """Whether a box holds a packet for the whole file."""
    return box.kind == b"uuid" and box.end - box.body >= 16 and scan.at(box.body, 16) == XMP_UUID


def _owned(scan: Scan, box: Located) -> Iterator[bytes]:
    if is_packet_box(scan, box):
        yield scan.at(box.body + 16, box.end - box.body - 16)


def _in_movie(scan: Scan, movie: Located) -> Iterator[bytes]:
    for box in inside(scan, movie.body, movie.end):
        if box.kind == b"uuid":
            yield from _owned(scan, box)
        elif box.kind == b"udta":
            for user in inside(scan, box.body, box.end):
                if user.kind == XMP_BOX:
                    yield scan.at(user.body, user.end - user.body)


def _items(scan: Scan, meta: Located) -> Iterator[bytes]:
    if meta.end - meta.body > LONGEST_META:
        return
    data = scan.at(meta.body, meta.end - meta.body)
    parts = {found.kind: found for found in boxes(data, FULL_BOX)}
    if b"iinf" not in parts or b"iloc" not in parts:
        return
    wanted = set(_packet_items(scan, data, parts[b"iinf"]))
    pool = parts.get(b"idat")
    for number, extents in _extents(scan, data, parts[b"iloc"], wanted):
        body = bytearray()
        for construction, place, length in extents:
            if construction == CONSTRUCTED_IN_FILE:
                body += scan.at(place, length)
            elif construction == CONSTRUCTED_IN_BOX and pool is not None and pool.start + place + length <= pool.end:
                body += data[pool.start + place : pool.start + place + length]
            if len(body) > LONGEST_META:
                raise EOFError
        wanted.discard(number)
        yield bytes(body)


def _packet_items(scan: Scan, data: bytes, listed: Box) -> Iterator[int]:
    """Numbers of the items that are XMP."""
    version = data[listed.start]
    for entry in boxes(data, listed.start + FULL_BOX + (2 if version == 0 else 4), listed.end):
        scan.count()
        kind = data[entry.start]
        if entry.kind != b"infe" or kind not in (2, 3):
            continue
        form = ">HH4s" if kind == 2 else ">IH4s"
        number, _, item = struct.unpack_from(form, data, entry.start + FULL_BOX)
        named = data[entry.start + FULL_BOX + struct.calcsize(form) : entry.end]
        if item == b"mime" and named.split(b"\0")[1:2] == [XMP_TYPE]:
            yield number


def _extents(
    scan: Scan, data: bytes, listed: Box, wanted: set[int]
) -> Iterator[tuple[int, list[tuple[int, int, int]]]]:
    """Of each wanted item: how its extents are to be taken, where they begin and how long they are."""
    cursor = _Cursor(data, listed.start, listed.end)
    version = cursor.number(1)
    cursor.number(3)
    sizes = cursor.number(2)
    offset_size, length_size, base_size, index_size = (sizes >> shift & 0xF for shift in (12, 8, 4, 0))
    for _ in range(cursor.number(4 if version == 2 else 2)):
        number = cursor.number(4 if version == 2 else 2)
        construction = cursor.number(2) & 0xF if version in (1, 2) else CONSTRUCTED_IN_FILE
        cursor.number(2)
        base = cursor.number(base_size)
        extents = []
        for _ in range(cursor.number(2)):
            scan.count()  # they may take no bytes
            if version in (1, 2):
                cursor.number(index_size)
            place = base + cursor.number(offset_size)
            extents.append((construction, place, cursor.number(length_size)))
        if number in wanted:
            yield number, extents


class _Cursor:
    """Numbers one behind the other."""

    def __init__(self, data: bytes, place: int, end: int) -> None:
        self._data = data
        self._place = place
        self._end = end

    def number(self, length: int) -> int:
        stop = self._place + length
        if stop > self._end:
            raise EOFError
        value = int.from_bytes(self._data[self._place : stop], "big")
        self._place = stop
        return value
