"""Cutting a picture into tiles."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from facefusion.core.values import Region, Size


def tiles(size: Size, side: int) -> Iterator[Region]:
    """Regions of at most ``side`` x ``side`` that cover a picture of ``size`` exactly once, row by row.

    Tiles of a row (and of a column) differ by one pixel at most, so that none is a sliver.
    """
    columns = _cuts(size.width, side)
    rows = _cuts(size.height, side)
    for top, bottom in pairwise(rows):
        for left, right in pairwise(columns):
            yield Region(left, top, right, bottom)


def _cuts(length: int, side: int) -> list[int]:
    count = -(-length // side)
    return [length * number // count for number in range(count + 1)]
