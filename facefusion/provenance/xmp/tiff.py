"""TIFF and BigTIFF: tag 700 of the first directory (XMP part 3, 1.1.9; TIFF 6.0)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from facefusion.provenance.xmp.editing import Edit, put
from facefusion.provenance.xmp.scan import Scan

BEGIN = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
XMP_TAG = 700
BYTE = 1
ONE_BYTE_TYPES = (BYTE, 2, 6, 7)
MOST_DIRECTORIES = 1000
"""Pages."""


class _Layout(NamedTuple):
    """How numbers are written."""

    order: str
    word: str
    """Of places in the file, as :mod:`struct` calls them."""
    counter: str
    """Of the number of entries."""
    first: int
    """Where the header tells the first directory."""

    @property
    def entry(self) -> str:
        """Tag, type, count and value or place."""
        return f"{self.order}HH{self.word}{self.word}"

    def number(self, kind: str, data: bytes) -> int:
        return int(struct.unpack(self.order + kind, data)[0])

    def size(self, kind: str) -> int:
        return struct.calcsize(self.order + kind)


def packets(scan: Scan) -> Iterator[bytes]:
    """The packets of all pages."""
    layout = _layout(scan)
    place = _first(scan, layout)
    seen: set[int] = set()
    while place and place not in seen and len(seen) < MOST_DIRECTORIES:
        seen.add(place)
        entries, after = _directory(scan, layout, place)
        scan.count(len(entries))
        for entry in entries:
            tag, kind, length, value = struct.unpack(layout.entry, entry)
            if tag == XMP_TAG and kind in ONE_BYTE_TYPES and length > layout.size(layout.word):
                yield scan.at(value, length)
        place = layout.number(layout.word, after)


def edits(scan: Scan, packet: bytes) -> list[Edit] | None:
    """What puts the packet and a new first directory behind the end; none where the file would be too long."""
    layout = _layout(scan)
    entries, after = _directory(scan, layout, _first(scan, layout))
    place = scan.size + scan.size % 2
    directory = place + len(packet) + len(packet) % 2
    entry = struct.pack(layout.order + "HH" + layout.word, XMP_TAG, BYTE, len(packet))
    kept = [one for one in entries if layout.number("H", one[:2]) != XMP_TAG]
    count = len(kept) + 1
    end = directory + layout.size(layout.counter) + count * layout.size(layout.entry[1:]) + len(after)
    if end >= 1 << 8 * layout.size(layout.word):
        return None
    entry += struct.pack(layout.order + layout.word, place)
    ordered = sorted([*kept, entry], key=lambda one: layout.number("H", one[:2]))
    written = struct.pack(layout.order + layout.counter, count) + b"".join(ordered) + after
    body = b"\0" * (scan.size % 2) + packet + b"\0" * (len(packet) % 2) + written
    told = struct.pack(layout.order + layout.word, directory)
    return [Edit(layout.first, layout.first + len(told), told), put(scan.size, body)]


def _layout(scan: Scan) -> _Layout:
    head = scan.at(0, 4)
    order = "<" if head[:2] == b"II" else ">"
    return _Layout(order, "Q", "Q", 8) if b"+" in head else _Layout(order, "I", "H", 4)


def _first(scan: Scan, layout: _Layout) -> int:
    return layout.number(layout.word, scan.at(layout.first, layout.size(layout.word)))


def _directory(scan: Scan, layout: _Layout, place: int) -> tuple[list[bytes], bytes]:
    """Its entries, and what tells the next one."""
    head, length = layout.size(layout.counter), layout.size(layout.entry[1:])
    count = layout.number(layout.counter, scan.at(place, head))
    body = scan.at(place + head, count * length)
    after = scan.at(place + head + len(body), layout.size(layout.word))
    return [body[start : start + length] for start in range(0, len(body), length)], after
