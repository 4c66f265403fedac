"""RIFF files: WebP, AVI and WAVE (XMP part 3, 1.1.8, 1.2.2 and 1.2.7; WebP: RFC 9649)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from facefusion.provenance.xmp.editing import Edit, cut, put
from facefusion.provenance.xmp.scan import Scan

BEGIN = b"RIFF"
HEAD = 12
"""Bytes of ``RIFF``, the length and the form."""
WEBP, AVI = b"WEBP", b"AVI "
IN_WEBP, IN_OTHERS, FILLING = b"XMP ", b"_PMX", b"JUNK"
HAS_XMP, HAS_ALPHA = 0x04, 0x10
"""Flags of ``VP8X``."""
LONGEST = (1 << 32) - 2
KEY_FRAME = b"\x9d\x01\x2a"
LOSSLESS = 0x2F


class _Chunk(NamedTuple):
    kind: bytes
    body: int
    end: int
    """Of the body; one that is odd is followed by a byte of nothing."""

    @property
    def start(self) -> int:
        return self.body - 8

    @property
    def next(self) -> int:
        return self.end + (self.end - self.body) % 2


def packets(scan: Scan) -> Iterator[bytes]:
    """The packets."""
    wanted = IN_WEBP if scan.at(8, 4) == WEBP else IN_OTHERS
    for found in _chunks(scan, HEAD, _end(scan)):
        if found.kind == wanted:
            yield scan.at(found.body, found.end - found.body)
        elif found.kind == b"LIST" and scan.at(found.body, 4) == b"INFO":
            for inner in _chunks(scan, found.body + 4, found.end):
                if inner.kind == wanted:
                    yield scan.at(inner.body, inner.end - inner.body)


def edits(scan: Scan, packet: bytes) -> list[Edit] | None:
    """What puts the packet in place of the one that the file has; none where it has no room."""
    if scan.at(8, 4) == WEBP:
        return _in_webp(scan, packet)
    return _in_avi(scan, packet) if scan.at(8, 4) == AVI else None


def _in_webp(scan: Scan, packet: bytes) -> list[Edit]:
    found = list(_chunks(scan, HEAD, _end(scan)))
    made = [cut(one.start, one.next) for one in found if one.kind == IN_WEBP]
    made.append(put(found[-1].next, _chunk(IN_WEBP, packet)))
    first = found[0]
    if first.kind == b"VP8X":
        flags = scan.at(first.body, 1)[0] | HAS_XMP
        made.append(Edit(first.body, first.body + 1, bytes((flags,))))
    else:
        made.append(put(first.start, _chunk(b"VP8X", _canvas(scan, first))))
    return [*made, _length(scan, made)]


def _canvas(scan: Scan, picture: _Chunk) -> bytes:
    """What a file of a picture alone leaves unsaid: its size, and whether it has alpha."""
    data = scan.at(picture.body, 10)
    flags = HAS_XMP
    if picture.kind == b"VP8L" and data[0] == LOSSLESS:
        bits = int.from_bytes(data[1:5], "little")
        width, height = bits & 0x3FFF, bits >> 14 & 0x3FFF  # less one, both
        flags |= HAS_ALPHA if bits >> 28 & 1 else 0
    elif picture.kind == b"VP8 " and data[3:6] == KEY_FRAME:
        width, height = (side % (1 << 14) - 1 for side in struct.unpack_from("<HH", data, 6))
    else:
        raise ValueError
    return struct.pack("<I", flags) + width.to_bytes(3, "little") + height.to_bytes(3, "little")


def _in_avi(scan: Scan, packet: bytes) -> list[Edit] | None:
    """In the filling that stands before the pictures, so that nothing moves; or at the end of a file of one part."""
    found = list(_chunks(scan, HEAD, _end(scan)))
    old = [Edit(one.start, one.start + 4, FILLING) for one in found if one.kind == IN_OTHERS]
    written = _chunk(IN_OTHERS, packet)
    for one in found:
        rest = one.next - one.start - len(written) - 8
        if one.kind == FILLING and rest >= 0:
            filled = written + struct.pack("<4sI", FILLING, rest)
            return [*old, Edit(one.start, one.start + len(filled), filled)]
    if _end(scan) != scan.size or scan.size + len(written) > LONGEST:
        return None
    made = [*old, put(scan.size, written)]
    return [*made, _length(scan, made)]


def _length(scan: Scan, made: list[Edit]) -> Edit:
    grown = sum(len(one.data) - (one.end - one.start) for one in made)
    return Edit(4, 8, struct.pack("<I", _end(scan) - 8 + grown))


def _end(scan: Scan) -> int:
    (length,) = struct.unpack("<I", scan.at(4, 4))
    return min(8 + int(length), scan.size)


def _chunks(scan: Scan, place: int, end: int) -> Iterator[_Chunk]:
    while place + 8 <= end:
        scan.count()
        kind, length = struct.unpack("<4sI", scan.at(place, 8))
        found = _Chunk(kind, place + 8, min(place + 8 + length, end))
        yield found
        place = found.next


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack("<4sI", kind, len(body)) + body + b"\0" * (len(body) % 2)
