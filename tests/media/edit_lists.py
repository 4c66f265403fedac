"""Writing edit lists of several parts into an MP4 file, which no muxer of FFmpeg does."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

EMPTY = -1
FOLDERS = (b"moov", b"trak", b"edts", b"mdia")


def edit(source: Path, path: Path, parts: Sequence[tuple[Fraction, Fraction | None]]) -> None:
    """Copy an MP4 file whose index comes last, and let every track show ``parts`` of itself, one after the other.

    Args:
        source: to copy.
        path: of the copy.
        parts: how long each is shown and where in the track it begins, in seconds; nothing is shown where that is none.
    """
    boxes = _parse(source.read_bytes())
    assert [kind for kind, _ in boxes][-1] == b"moov", "what comes behind the index would be moved"
    movie = _box(boxes, b"moov")
    clock = struct.unpack(">I", _box(movie, b"mvhd")[12:16])[0]
    for kind, track in movie:
        if kind == b"trak":
            rate = struct.unpack(">I", _box(_box(track, b"mdia"), b"mdhd")[12:16])[0]
            edits = _box(track, b"edts")
            _replace(edits, b"elst", _edits(_box(edits, b"elst"), parts, clock, rate))
    path.write_bytes(_written(boxes))


def _edits(old: bytes, parts: Sequence[tuple[Fraction, Fraction | None]], clock: int, rate: int) -> bytes:
    origin = struct.unpack(">i", old[12:16])[0]
    entries = [
        struct.pack(">IiHH", round(length * clock), EMPTY if begin is None else origin + round(begin * rate), 1, 0)
        for length, begin in parts
    ]
    return struct.pack(">II", 0, len(entries)) + b"".join(entries)


def _parse(data: bytes) -> list[tuple[bytes, Any]]:
    boxes, at = [], 0
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + size]
        boxes.append((kind, _parse(body) if kind in FOLDERS else body))
        at += size
    return boxes


def _written(boxes: list[tuple[bytes, Any]]) -> bytes:
    bodies = [(kind, _written(body) if isinstance(body, list) else body) for kind, body in boxes]
    return b"".join(struct.pack(">I4s", 8 + len(body), kind) + body for kind, body in bodies)


def _box(boxes: list[tuple[bytes, Any]], wanted: bytes) -> Any:
    return next(body for kind, body in boxes if kind == wanted)


def _replace(boxes: list[tuple[bytes, Any]], wanted: bytes, new: bytes) -> None:
    boxes[:] = [(kind, new if kind == wanted else body) for kind, body in boxes]
