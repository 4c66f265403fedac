"""Boxes: left, top, right, bottom in pixels, one per row."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from facefusion.core.values import Box

Boxes = npt.NDArray[np.float32]
"""Shape (n, 4)."""


def areas(boxes: Boxes) -> npt.NDArray[np.float64]:
    """Area of each box, 0 where its corners are the wrong way round."""
    wide = boxes.astype(np.float64)
    sides = np.maximum(wide[:, 2:] - wide[:, :2], 0)
    product: npt.NDArray[np.float64] = sides[:, 0] * sides[:, 1]
    return product


def intersection_over_union(boxes: Boxes, others: Boxes) -> npt.NDArray[np.float32]:
    """Overlap of each of n boxes with each of m: shape (n, m), 0 (apart, or both empty) .. 1 (the same)."""
    # The area of a box that a damaged detector gives may be beyond what 32 bits hold.
    first, second = boxes.astype(np.float64), others.astype(np.float64)
    low = np.maximum(first[:, None, :2], second[None, :, :2])
    high = np.minimum(first[:, None, 2:], second[None, :, 2:])
    sides = np.maximum(high - low, 0)
    shared = sides[..., 0] * sides[..., 1]
    union = areas(boxes)[:, None] + areas(others)[None, :] - shared
    ratio: npt.NDArray[np.float32] = np.divide(shared, union, out=np.zeros(shared.shape, np.float32), where=union > 0)
    return ratio


def box_overlap(first: Box, second: Box) -> float:
    """Intersection over union of two boxes."""
    return float(intersection_over_union(first[None], second[None])[0, 0])


def suppress_overlaps(boxes: Boxes, scores: npt.NDArray[np.float32], limit: float) -> npt.NDArray[np.intp]:
    """Greedy non-maximum suppression.

    Takes the best box, drops every other that overlaps it by more than ``limit`` (intersection over union), and goes
    on with the rest. Time grows with boxes kept times boxes given; memory with boxes given.

    Returns:
        Indices of the boxes kept, best score first; of equal scores the earlier one first.
    """
    waiting = np.argsort(-scores, kind="stable")
    kept: list[int] = []
    while len(waiting):
        best, rest = waiting[0], waiting[1:]
        kept.append(int(best))
        overlap = intersection_over_union(boxes[best : best + 1], boxes[rest])[0]
        waiting = rest[overlap <= limit]
    return np.array(kept, np.intp)


def pair_best_first(scores: npt.NDArray[np.float32], least: float) -> dict[int, int]:
    """Pair rows with columns, each at most once, by falling score.

    Args:
        scores: shape (n, m); equal scores are taken row by row.
        least: pairs at or below this are left apart.

    Returns:
        Column by row.
    """
    rows, columns = np.nonzero(scores > least)
    order = np.argsort(-scores[rows, columns], kind="stable")
    pairs: dict[int, int] = {}
    taken: set[int] = set()
    for row, column in zip(rows[order].tolist(), columns[order].tolist(), strict=True):
        if row not in pairs and column not in taken:
            pairs[row] = column
            taken.add(column)
    return pairs


def enclosing_box(points: npt.NDArray[np.floating[Any]]) -> Box:
    """The smallest box around n x 2 (or n x 3: z is left out) points."""
    plane = points[:, :2]
    box: Box = np.concatenate((plane.min(axis=0), plane.max(axis=0))).astype(np.float32)
    return box
