"""Makes the source as soft as the target: a sharp face in a soft picture shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import cv2
import numpy as np
import numpy.typing as npt

from facefusion.core.values import Landmarks478, Pixels, Size
from facefusion.processors.face_swapper.families.mesh import atlas, topology
from facefusion.processors.face_swapper.families.mesh.skin import TEXTURE_SIZE
from facefusion.processors.face_swapper.families.mesh.tone import to_lab
from facefusion.vision.filters import Map, blur, resize
from facefusion.vision.raster import Triangles

FINE = 1.3
"""What a Gaussian of this many pixels takes away counts as fine detail."""

TOLERANCE = 1.3
"""The source may have this many times the target's fine detail."""

BLURS = (0.0, 0.45, 0.65, 0.9, 1.2, 1.6, 2.1)
"""Blurs tried, in pixels."""

_STEPS_PER_OCTAVE = 4
_MIDDLE = (0.32, 0.68)
"""Part of the crop, across and down, in which the target is measured: cheeks and nose."""


class DetailSharpness:
    """Fine detail of a source's skin at any scale, measured on its texture and remembered per quarter octave.

    Not thread-safe: asked by the one thread that observes.
    """

    def __init__(self, levels: Sequence[Map]) -> None:
        self._levels = [np.ascontiguousarray(level[..., 0]) for level in levels]
        self._known: dict[int, npt.NDArray[np.float32]] = {}

    def blur_to_match(self, fine_detail: float, gain: float, texels_per_pixel: float) -> float:
        """Blur in pixels that brings the rendered source down to the target's fine detail; 0 where it is soft enough.

        Args:
            fine_detail: mean size of the target's fine detail, in units of L.
            gain: contrast that the source is rendered with.
            texels_per_pixel: of the full texture.
        """
        own = self._at(texels_per_pixel) * np.float32(gain)
        allowed = TOLERANCE * fine_detail
        for place, amount in enumerate(own.tolist()):
            if amount <= allowed:
                if place == 0:
                    return 0.0
                before = float(own[place - 1])
                share = (before - allowed) / max(before - amount, 1e-6)
                return float(BLURS[place - 1] + share * (BLURS[place] - BLURS[place - 1]))
        return BLURS[-1]

    def _at(self, texels_per_pixel: float) -> npt.NDArray[np.float32]:
        step = round(_STEPS_PER_OCTAVE * math.log2(max(texels_per_pixel, 1e-3)))
        if step not in self._known:
            self._known[step] = self._measure(2 ** (step / _STEPS_PER_OCTAVE))
        return self._known[step]

    def _measure(self, texels_per_pixel: float) -> npt.NDArray[np.float32]:
        level = texture_level(texels_per_pixel, len(self._levels))
        texture = self._levels[level]
        side = texture.shape[0]
        window = (slice(round(0.36 * side), round(0.74 * side)), slice(round(0.22 * side), round(0.78 * side)))
        bare = resize(atlas.masks(atlas.DETAIL).skin, Size(side, side))[window] > 0.9
        scale = texels_per_pixel / 2**level
        amounts = [
            _fine_detail(blur(texture, amount * scale) if amount else texture, FINE * scale)[window][bare].mean()
            for amount in BLURS
        ]
        return np.array(amounts, np.float32)


def texture_level(texels_per_pixel: float, levels: int) -> int:
    """Which halving of the texture to sample."""
    return min(max(math.floor(math.log2(max(texels_per_pixel, 1e-3)) + 0.35), 0), levels - 1)


def texture_density(placed: Landmarks478) -> float:
    """Texels of the full texture per pixel along a line, as a mean over the middle of the face.

    Args:
        placed: mesh in the pixels of the crop.
    """
    corners = placed[_middle_triangles(), :2]
    one, two = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    area = float(np.abs(one[:, 0] * two[:, 1] - one[:, 1] * two[:, 0]).sum())
    flat = topology.texture_coordinates()[_middle_triangles()] * np.float32(TEXTURE_SIZE)
    one, two = flat[:, 1] - flat[:, 0], flat[:, 2] - flat[:, 0]
    texels = float(np.abs(one[:, 0] * two[:, 1] - one[:, 1] * two[:, 0]).sum())
    return math.sqrt(texels / max(area, 1e-6))


def target_fine_detail(patch: Pixels, placed: Landmarks478) -> float | None:
    """Mean size of the fine detail of bare skin in the middle of a crop, in units of L; none where no skin shows.

    Args:
        patch: :func:`middle_of` the crop.
        placed: mesh in the pixels of the patch.
    """
    bare = np.full(patch.shape[:2], 255, np.uint8)
    for feature in (topology.LEFT_EYE, topology.RIGHT_EYE, topology.OUTER_LIP, topology.NOSTRILS):
        hull = cv2.convexHull(np.rint(placed[list(feature), :2]).astype(np.int32))
        cv2.fillConvexPoly(bare, hull, (0,))
        cv2.polylines(bare, [hull], True, (0,), max(1, patch.shape[0] // 12))
    shown = bare > 0
    if np.count_nonzero(shown) < 100:
        return None
    return float(_fine_detail(to_lab(patch)[..., 0], FINE)[shown].mean())


def middle_of(size: int) -> tuple[int, int]:
    """First pixel and number of pixels, across as well as down, of the part of a crop that is measured."""
    first = round(_MIDDLE[0] * size)
    return first, round(_MIDDLE[1] * size) - first


def _fine_detail(lightness: Map, sigma: float) -> Map:
    fine: Map = np.abs(lightness - blur(np.ascontiguousarray(lightness), sigma))
    return fine


@cache
def _middle_triangles() -> Triangles:
    flat = topology.texture_coordinates()[topology.triangles()].mean(axis=1)
    central = (np.abs(flat[:, 0] - 0.5) < 0.28) & (flat[:, 1] > 0.36) & (flat[:, 1] < 0.74)
    middle: Triangles = topology.triangles()[central]
    return middle
