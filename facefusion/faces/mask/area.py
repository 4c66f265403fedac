"""The mask of parts of a face that its 68 points outline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import cv2
import numpy as np

from facefusion.core.values import Landmarks68, Mask, Size
from facefusion.faces.mask.curve import soften_inward

AREAS: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {
        "upper-face": (0, 1, 2, *range(31, 36), 14, 15, 16, *range(26, 16, -1)),
        "lower-face": (*range(3, 14), *range(35, 30, -1)),
        "mouth": tuple(range(48, 68)),
    }
)
"""Which of the 68 points enclose each area, by the name that users know it under."""


def area_mask(points: Landmarks68, areas: Iterable[str], size: Size) -> Mask:
    """1 inside the hull of the areas, with a soft edge that falls inside.

    Areas that share points are one, so that no gap is left between the upper and the lower face; apart from that each
    has a hull of its own, so that what lies between two of them is not changed.

    Args:
        points: in pixels of the crop.
        areas: keys of :data:`AREAS`.
        size: of the crop.
    """
    mask = np.zeros((size.height, size.width), np.float32)
    whole = points.astype(np.int32)
    for indices in _joined(AREAS[name] for name in areas):
        cv2.fillConvexPoly(mask, cv2.convexHull(whole[sorted(indices)]), (1.0,))
    return soften_inward(mask)


def _joined(areas: Iterable[Iterable[int]]) -> list[set[int]]:
    """Indices of each group of areas that share points."""
    groups: list[set[int]] = []
    for area in areas:
        joined = set(area)
        for group in [group for group in groups if group & joined]:
            groups.remove(group)
            joined |= group
        groups.append(joined)
    return groups
