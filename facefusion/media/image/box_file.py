"""ISO base media boxes (ISO/IEC 14496-12), as far as image files (23008-12) need them.

They are read for what decoders do not tell, and written to lay metadata into a file whose encoder takes none.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

FULL_BOX = 4
"""Bytes of version and flags at the beginning of some boxes."""


class Box(NamedTuple):
    """One box."""

    kind: bytes
    start: int
    """Offset of the body in the data that was searched."""
    end: int


def boxes(data: bytes, start: int = 0, end: int | None = None) -> Iterator[Box]:
    """The boxes that lie one behind the other in a stretch of ``data``; a last one may break off."""
    end = len(data) if end is None else min(end, len(data))
    while start + 8 <= end:
        size, kind = struct.unpack_from(">I4s", data, start)
        head = 8
        if size == 1 and start + 16 <= end:
            (size,) = struct.unpack_from(">Q", data, start + 8)
            head = 16
        stop = end if size == 0 else start + size
        if stop < start + head:
            return
        yield Box(kind, start + head, min(stop, end))
        start = stop


def child(data: bytes, parent: Box, kind: bytes, *, skip: int = 0) -> Box | None:
    """The first box of a kind in another; ``skip`` bytes lie before the children."""
    return next((box for box in boxes(data, parent.start + skip, parent.end) if box.kind == kind), None)


def item_properties(data: bytes) -> list[Box]:
    """The properties of the items of an image file, in their order: those of the primary picture come first."""
    meta = child(data, Box(b"", 0, len(data)), b"meta")
    group = child(data, meta, b"iprp", skip=FULL_BOX) if meta else None
    shared = child(data, group, b"ipco") if group else None
    return list(boxes(data, shared.start, shared.end)) if shared else []


def box(kind: bytes, *parts: bytes) -> bytes:
    """A box of the parts given."""
    body = b"".join(parts)
    return struct.pack(">I4s", 8 + len(body), kind) + body


def full_box(kind: bytes, version: int, *parts: bytes) -> bytes:
    """A box with a version and no flags."""
    return box(kind, struct.pack(">I", version << 24), *parts)
