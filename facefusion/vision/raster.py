"""Triangle meshes drawn into pixel grids with array operations only: no renderer, no loop over triangles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from facefusion.core.values import Size

Points = npt.NDArray[np.float32]
"""Vertices in pixels, n x 2."""

Triangles = npt.NDArray[np.int32]
"""Indices of vertices, m x 3."""

Plane = npt.NDArray[np.float32]
"""Height x width, one number per pixel."""

Indices = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Raster:
    """Which point of which triangle is seen at each covered pixel.

    Pixel centres are on whole numbers. A pixel belongs to a triangle when its centre lies inside, on the left or on
    the upper edge, so triangles that share an edge neither overlap there nor leave a gap.
    """

    size: Size
    covered: Indices
    """Flat indices (row-major) of the covered pixels, increasing."""
    seen: Indices
    """Index of the triangle seen at each covered pixel."""
    second: npt.NDArray[np.float32]
    """Barycentric weight of that triangle's second corner at each covered pixel."""
    third: npt.NDArray[np.float32]
    """Of its third corner; the first has the rest to 1."""
    triangles: Triangles

    def interpolate(self, attribute: npt.NDArray[np.float32], outside: float = 0.0) -> Plane:
        """Spread one number per vertex over the pixels, linearly inside each triangle; ``outside`` elsewhere."""
        start = attribute[self.triangles[:, 0]]
        values = np.take(start, self.seen)
        values += self.second * np.take(attribute[self.triangles[:, 1]] - start, self.seen)
        values += self.third * np.take(attribute[self.triangles[:, 2]] - start, self.seen)
        plane = np.full(self.size.width * self.size.height, outside, np.float32)
        plane[self.covered] = values
        return plane.reshape(self.size.height, self.size.width)

    def inside(self) -> npt.NDArray[np.uint8]:
        """255 where a triangle is seen, 0 elsewhere."""
        plane = np.zeros(self.size.width * self.size.height, np.uint8)
        plane[self.covered] = 255
        return plane.reshape(self.size.height, self.size.width)


def rasterise(points: Points, triangles: Triangles, size: Size) -> Raster:
    """Draw triangles in the order given: of several at one pixel the last one is seen.

    Works by spans: each triangle is cut into pixel rows, the ends of each row come from its edges, and all rows of all
    triangles are expanded at once. An edge is always computed from its upper to its lower end, so both of its
    triangles get the same number from it.

    Args:
        points: vertices; may lie outside the grid.
        triangles: either winding. Triangles without area cover nothing.
        size: of the grid.
    """
    corners = points[triangles]
    rank, column, row = _spans(corners, size)
    seen = _highest(rank, row * size.width + column, size.width * size.height)
    covered = np.flatnonzero(seen >= 0).astype(np.int32)
    visible = np.take(seen, covered)
    second, third = _barycentric(corners, visible, covered, size.width)
    return Raster(size, covered, visible, second, third, triangles)


def _spans(corners: Points, size: Size) -> tuple[Indices, Indices, Indices]:
    """Rank of the triangle, column and row of every pixel that any triangle covers."""
    order = np.lexsort((corners[:, :, 0], corners[:, :, 1]), axis=1)
    top, middle, bottom = (corners[np.arange(len(corners)), order[:, place]] for place in range(3))
    first = np.clip(np.ceil(top[:, 1]), 0, size.height).astype(np.int32)
    last = np.clip(np.ceil(bottom[:, 1]), 0, size.height).astype(np.int32)
    rank, row = _expand(first, last)
    long_side = _edges_at(rank, row, top, bottom)
    short_side = np.where(
        row >= np.take(middle[:, 1], rank), _edges_at(rank, row, middle, bottom), _edges_at(rank, row, top, middle)
    )
    left = np.clip(np.ceil(np.minimum(long_side, short_side)), 0, size.width).astype(np.int32)
    right = np.clip(np.ceil(np.maximum(long_side, short_side)), 0, size.width).astype(np.int32)
    span, column = _expand(left, right)
    return np.take(rank, span), column, np.take(row, span)


def _highest(rank: Indices, pixel: Indices, count: int) -> Indices:
    """The highest rank written to each of ``count`` pixels, -1 where none is.

    Repeats assignment with those that lost against a lower one until none is left: which of several values an
    assignment keeps is not defined by numpy, this result is. Two or three rounds do for a face, at a tenth of the
    time of ``np.maximum.at``.
    """
    seen = np.full(count, -1, np.int32)
    while len(pixel):
        seen[pixel] = rank
        lost = seen[pixel] < rank
        rank, pixel = rank[lost], pixel[lost]
    return seen


def _expand(starts: Indices, ends: Indices) -> tuple[Indices, Indices]:
    """All whole numbers of all half-open ranges, one after another, with the index of the range each comes from."""
    lengths = np.maximum(ends - starts, 0)
    source = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    before = (np.cumsum(lengths) - lengths).astype(np.int32)
    return source, np.arange(len(source), dtype=np.int32) + np.take(starts - before, source)


def _edges_at(rank: Indices, row: Indices, start: Points, end: Points) -> npt.NDArray[np.float32]:
    """Where the edge of each triangle ``rank``, given from its upper to its lower end, crosses each row."""
    height = np.maximum(end[:, 1] - start[:, 1], np.float32(1e-9))
    slope: npt.NDArray[np.float32] = (end[:, 0] - start[:, 0]) / height
    below: npt.NDArray[np.float32] = row.astype(np.float32) - np.take(start[:, 1], rank)
    crossing: npt.NDArray[np.float32] = np.take(slope, rank) * below
    crossing += np.take(start[:, 0], rank)
    return crossing


def _barycentric(
    corners: Points, seen: Indices, pixels: Indices, width: int
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Weights of the second and third corner at each pixel.

    Computed relative to the first corner, so that slivers lose no digits to the position in the grid.
    """
    one, two = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    area = one[:, 0] * two[:, 1] - one[:, 1] * two[:, 0]
    scale: npt.NDArray[np.float32] = np.divide(1, area, out=np.zeros_like(area), where=area != 0)
    x = (pixels % width).astype(np.float32) - np.take(corners[:, 0, 0], seen)
    y = (pixels // width).astype(np.float32) - np.take(corners[:, 0, 1], seen)
    second = np.take(two[:, 1] * scale, seen) * x - np.take(two[:, 0] * scale, seen) * y
    third = np.take(one[:, 0] * scale, seen) * y - np.take(one[:, 1] * scale, seen) * x
    return np.clip(second, 0, 1), np.clip(third, 0, 1)
