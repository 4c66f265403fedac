"""How far a source reaches: where no photo shows the side of a face, the target keeps its own."""

from __future__ import annotations

from typing import cast

import cv2
import numpy as np

from facefusion.faces.surface import atlas
from facefusion.vision.filters import Map, blur, smooth_step

_FADE = (-0.025, 0.035)
"""Where the source begins and where it is shown in full: distances from the border of what is known, inwards.

In sides of the unwrapped picture. Beginning beyond the border and not at it leaves the source its likeness: with seven
sources on nine portraits the similarity stays (mean 0.546), while a fade from 0.01 to 0.08 costs 0.007.
"""

_SIDE = (0.2, 0.3)
"""Distances from the left and right border of the unwrapped picture between which the side of the face ends.

Nearer to the middle what is unknown is shown without detail: a source whose brows lie under a fringe takes the
target's spectacles off nevertheless. Keeping them costs such a pair 0.17 of 0.64.
"""

_SOFTNESS = 2.0
"""Blur of the fade in texels, over the corners of what is known."""


def reach(known: Map) -> Map:
    """Opacity of a source in the unwrapped face, at the atlas' detail size: 0 (the target's own skin) .. 1.

    Photos from the front do not show the skin before the ears, which a target that looks aside turns to the camera.
    Nothing but its light could be drawn there: a flat band that ends in a seam.

    Args:
        known: 1 where a photo shows the face, 0 where it is made up, at that size.
    """
    parts = atlas.masks(atlas.DETAIL)
    shown = smooth_step(border_distance(known), *_FADE)
    columns = (np.arange(atlas.DETAIL, dtype=np.float32) + np.float32(0.5)) * np.float32(1 / atlas.DETAIL)
    middle = smooth_step(np.float32(0.5) - np.abs(columns - np.float32(0.5)), *_SIDE)
    opacity: Map = np.minimum(parts.edge, np.maximum(blur(shown, _SOFTNESS), middle))
    return opacity


def border_distance(known: Map) -> Map:
    """Distance from the border of what is known in sides of the picture: above 0 within, below 0 beyond it."""
    within = (known > 0.25).astype(np.uint8)
    inwards, outwards = (cast("Map", cv2.distanceTransform(marks, cv2.DIST_L2, 5)) for marks in (within, 1 - within))
    distance: Map = (inwards - outwards) * np.float32(1 / known.shape[0])
    return distance
