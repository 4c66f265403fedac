"""Parts the grain of a source's skin (film grain, sensor noise, print screens, pores) from its features."""

from __future__ import annotations

from typing import cast

import cv2
import numpy as np

from facefusion.core.values import Size
from facefusion.faces.surface import atlas
from facefusion.vision.filters import Map, blur, median, resize

_SCALE = 4.0
"""What a Gaussian of this many texels takes away may be grain."""

_KEPT = 2.5
"""Contrasts this many times stronger than the grain are features: wrinkles, spots, folds."""

_LIMITS = (1.0, 8.0)
"""The grain is taken to be at least and at most this strong, in units of L."""


def split_grain(detail: Map) -> tuple[Map, Map]:
    """Split detail into features and grain, by a bilateral filter (Tomasi and Manduchi, 1998) on the skin.

    Args:
        detail: (L, a', b') without light, n x n x 3, at texture size.

    Returns:
        The features, n x n x 3, and the grain of L, n x n. Eyes, brows, lips and nostrils have no grain. The grain of
        colour is dropped: it is noise.
    """
    lightness = np.ascontiguousarray(detail[..., 0])
    size = Size(detail.shape[1], detail.shape[0])
    skin = resize(atlas.masks(atlas.DETAIL).skin, size)
    core = skin * resize(atlas.masks(atlas.DETAIL).edge, size) > 0.9
    strength = float(median(np.abs(lightness - blur(lightness, _SCALE))[core])) * 1.4826
    strength = min(max(strength, _LIMITS[0]), _LIMITS[1])
    smooth = cast("Map", cv2.bilateralFilter(detail, -1, _KEPT * strength, _SCALE))
    grain = (detail - smooth) * blur(skin, 2)[..., None]
    return detail - grain, np.ascontiguousarray(grain[..., 0])
