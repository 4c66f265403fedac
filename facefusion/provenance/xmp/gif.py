"""GIF: an application extension (XMP part 3, 1.1.2; GIF89a).

The packet is not cut into blocks as the format wants it: its bytes count as lengths of blocks, and a row of all
numbers from 255 to 0 behind it catches whoever reads it so.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from facefusion.media.animation.facts import APPLICATION, EXTENSION, IMAGE, LOOPING, TRAILER, table_size
from facefusion.provenance.xmp.editing import Edit, cut, put
from facefusion.provenance.xmp.scan import Scan

BEGIN = (b"GIF87a", b"GIF89a")
HEADER = 13
NAME = b"XMP DataXMP"
CATCH = b"\x01" + bytes(range(255, -1, -1)) + b"\0"
MOST_BLOCKS = 4_000_000
"""Of up to 255 bytes."""


class _Part(NamedTuple):
    start: int
    end: int
    kind: int
    label: int
    name: bytes
    """Of an application."""


def packets(scan: Scan) -> Iterator[bytes]:
    """The packets."""
    for part in _parts(scan):
        if part.name == NAME:
            body = scan.at(part.start + 14, part.end - part.start - 14)
            yield body[: -len(CATCH)] if body.endswith(CATCH) else _joined(body)


def edits(scan: Scan, packet: bytes) -> list[Edit]:
    """What puts the packet in place of the one that the file has, behind what says how often it plays."""
    found = [Edit(0, 6, BEGIN[1])]  # extensions came with that version
    place = _start(scan)
    for part in _parts(scan):
        if part.name == NAME:
            found.append(cut(part.start, part.end))
        elif part.name in LOOPING:
            place = part.end
    extension = bytes((EXTENSION, APPLICATION, len(NAME))) + NAME + packet + CATCH
    return [*found, put(place, extension)]


def _start(scan: Scan) -> int:
    return HEADER + table_size(scan.at(10, 1)[0])


def _parts(scan: Scan) -> Iterator[_Part]:
    place, left = _start(scan), MOST_BLOCKS
    while True:
        scan.count()
        kind, label = scan.at(place, 1)[0], 0
        name = b""
        if kind == TRAILER:
            return
        if kind == EXTENSION:
            label = scan.at(place + 1, 1)[0]
            first = place + 2
            if label == APPLICATION and scan.at(first, 1)[0] == len(NAME):
                name = scan.at(first + 1, len(NAME))
        elif kind == IMAGE:
            (flags,) = struct.unpack("9xB", scan.at(place, 10))
            first = place + 10 + table_size(flags) + 1
        else:
            raise ValueError
        end, left = _after_blocks(scan, first, left)
        yield _Part(place, end, kind, label, name)
        place = end


def _after_blocks(scan: Scan, place: int, left: int) -> tuple[int, int]:
    """Where a row of blocks ends, and how many more may be looked at."""
    scan.file.seek(place)
    while length := scan.file.read(1):
        place += 1 + length[0]
        left -= 1
        if left < 0:
            break
        if not length[0]:
            return place, left
        scan.file.seek(length[0], 1)
    raise EOFError


def _joined(body: bytes) -> bytes:
    """What a writer that did not know better cut into blocks."""
    parts, place = [], 0
    while place < len(body) and body[place]:
        parts.append(body[place + 1 : place + 1 + body[place]])
        place += 1 + body[place]
    return b"".join(parts)
