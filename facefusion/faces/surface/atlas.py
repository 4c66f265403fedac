"""The unwrapped face: what never changes about it, painted once per size.

The unwrapped face is a square picture in which each vertex lies at its texture coordinates, so the same place always
shows the same part of the face, whoever it belongs to and wherever it looks. Pixel centres lie at
``coordinate * size - 0.5``, so that sizes can be turned into one another by plain resampling, and a mirrored face is a
mirrored array.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import cast

import cv2
import numpy as np

from facefusion.core.values import Size
from facefusion.faces.surface import topology
from facefusion.vision.filters import Map, Marks, blur, resize, smooth_step
from facefusion.vision.raster import Points, Raster, rasterise

DETAIL = 256
"""Size at which the masks are painted."""


@dataclass(frozen=True, slots=True)
class Masks:
    """Maps of one size, 0 .. 1, in the unwrapped face."""

    inside: Map
    """The face at all."""
    skin: Map
    """Bare skin: no eyes, brows, lips, nostrils."""
    rim_distance: Map
    """Distance from the face's oval in sides of the picture; 0 outside."""
    height: Map
    """The v coordinate: about 0.1 at the hair line, 0.55 at the nose tip, 0.93 at the chin."""
    brows: Map
    """Brows with soft surroundings."""
    eyes: Map
    """Eyeballs between the lids, soft."""
    lids: Map
    """Eyes with their lids, soft."""
    lips: Map
    """Both lips, soft."""
    nose: Map
    """The nose with its wings, soft."""
    around_mouth: Map
    """Cheek folds and chin without the lips, soft."""
    beard_places: Map
    """Chin and upper lip, where every beard shows."""
    ears: Map
    """In front of the ears, where a mesh that lies a little wide takes them for cheek."""
    creases: Map
    """Nostrils, lip line and lids: small shadows that are part of the face."""
    edge: Map
    """Opacity: 0 at the oval and the hair line, 1 further in."""


@cache
def raster(size: int) -> Raster:
    """The face's triangles in an unwrapped picture of ``size`` x ``size`` pixels."""
    return rasterise(_texels(size), topology.triangles(), Size(size, size))


@cache
def masks(size: int) -> Masks:
    """The maps at ``size`` x ``size`` pixels."""
    if size != DETAIL:
        detailed = masks(DETAIL)
        shape = Size(size, size)
        return Masks(**{name: _frozen(resize(getattr(detailed, name), shape)) for name in Masks.__slots__})
    return _paint()


def _paint() -> Masks:
    inside = raster(DETAIL).inside()
    eyes = np.maximum(hull(topology.LEFT_EYE, 6), hull(topology.RIGHT_EYE, 6))
    brows = np.maximum(hull(topology.LEFT_BROW, 3), hull(topology.RIGHT_BROW, 3))
    lips = hull(topology.OUTER_LIP, 3)
    features = np.maximum.reduce((eyes, brows, lips, hull(topology.NOSTRILS, 2)))
    creases = np.maximum.reduce((hull(topology.NOSTRILS, 6), lips, eyes))
    distance = cv2.distanceTransform(polygon(topology.OVAL), cv2.DIST_L2, 5).astype(np.float32) * np.float32(1 / DETAIL)
    rows = (np.arange(DETAIL, dtype=np.float32) + np.float32(0.5)) * np.float32(1 / DETAIL)
    height = np.repeat(rows[:, None], DETAIL, axis=1)
    around_mouth = _soft(hull(topology.MOUTH_SURROUNDINGS, 4), 6) * (1 - _soft(hull(topology.OUTER_LIP, 0), 2))
    balls = np.maximum(polygon(topology.LEFT_EYE), polygon(topology.RIGHT_EYE))
    wide_brows = cast("Marks", cv2.dilate(brows, np.ones((7, 7), np.uint8)))
    return Masks(
        inside=_frozen(inside.astype(np.float32) * np.float32(1 / 255)),
        skin=_frozen(((inside > 0) & (features == 0)).astype(np.float32)),
        rim_distance=_frozen(distance),
        height=_frozen(height),
        brows=_frozen(_soft(wide_brows, 2)),
        eyes=_frozen(_soft(balls, 1.3)),
        lids=_frozen(_soft(eyes, 2)),
        lips=_frozen(_soft(lips, 3)),
        nose=_frozen(_soft(hull(topology.NOSE, 2), 3)),
        around_mouth=_frozen(around_mouth),
        beard_places=_frozen(_soft(np.maximum(hull(topology.CHIN, 0), hull(topology.UPPER_LIP_SKIN, 0)), 1)),
        ears=_frozen(_soft(np.maximum(hull(topology.LEFT_EAR_SIDE, 0), hull(topology.RIGHT_EAR_SIDE, 0)), 3)),
        creases=_frozen(_soft(creases, 1.5)),
        edge=_frozen(smooth_step(distance, 0.012, 0.085) * smooth_step(height, 0.115, 0.2)),
    )


def _texels(size: int) -> Points:
    return topology.texture_coordinates() * np.float32(size) - np.float32(0.5)


def polygon(vertices: Sequence[int]) -> Marks:
    """The polygon through some vertices, filled with 255."""
    mask = np.zeros((DETAIL, DETAIL), np.uint8)
    cv2.fillPoly(mask, [np.rint(_texels(DETAIL)[list(vertices)] * 16).astype(np.int32)], (255,), cv2.LINE_8, 4)
    return mask


def hull(vertices: Sequence[int], margin: int) -> Marks:
    """The convex hull of some vertices, ``margin`` pixels wider all around, filled with 255."""
    mask = np.zeros((DETAIL, DETAIL), np.uint8)
    points = np.rint(_texels(DETAIL)[list(vertices)]).astype(np.int32)
    cv2.fillConvexPoly(mask, cv2.convexHull(points), (255,))
    if margin == 0:
        return mask
    return cast("Marks", cv2.dilate(mask, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * margin + 1,) * 2)))


def _soft(mask: Marks, sigma: float) -> Map:
    return blur(mask.astype(np.float32) * np.float32(1 / 255), sigma)


def _frozen(plane: Map) -> Map:
    plane.flags.writeable = False
    return plane
