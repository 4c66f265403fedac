"""Files changed in places, however large they are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

BLOCK = 1 << 20


class Edit(NamedTuple):
    """A stretch of a file that something else takes the place of."""

    start: int
    end: int
    """As ``start`` where something is put in."""
    data: bytes


def cut(start: int, end: int) -> Edit:
    """An edit that leaves a stretch out."""
    return Edit(start, end, b"")


def put(place: int, data: bytes) -> Edit:
    """An edit that puts something in."""
    return Edit(place, place, data)


def edit(path: Path, edits: Sequence[Edit]) -> None:
    """Make some edits, none of which overlap.

    Where nothing moves, only those places are written; else a new file takes the place of the old one, and no more of
    either than a block is in memory.

    Raises:
        OSError: it cannot be written.
    """
    ordered = sorted(edits, key=lambda one: (one.start, one.end))
    size = path.stat().st_size
    if all(len(one.data) == one.end - one.start or one.start == one.end == size for one in ordered):
        with path.open("rb+") as file:
            for one in reversed(ordered):  # what is put behind the end comes before what refers to it
                file.seek(one.start)
                file.write(one.data)
        return
    fresh = path.with_name(f"{path.name}.edited.part")
    try:
        with path.open("rb") as source, fresh.open("wb") as target:
            for one in ordered:
                _copy(source, target, one.start - source.tell())
                target.write(one.data)
                source.seek(one.end)
            _copy(source, target, size - source.tell())
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


def _copy(source: BinaryIO, target: BinaryIO, length: int) -> None:
    while length > 0 and (block := source.read(min(length, BLOCK))):
        target.write(block)
        length -= len(block)
