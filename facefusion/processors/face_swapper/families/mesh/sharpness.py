"""Makes the source as soft as the target: a sharp face in a soft picture shows.

Crispness is the finest detail over that of the next octave. It says how sharp a picture is, whatever its contrast and
however rough the skin that it shows: a smooth skin in a sharp picture does not smooth the source's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np

from facefusion.core.values import Landmarks478, Pixels
from facefusion.processors.face_swapper.families.mesh import topology
from facefusion.processors.face_swapper.families.mesh.skin import TEXTURE_SIZE
from facefusion.processors.face_swapper.families.mesh.tone import to_lab
from facefusion.vision.filters import Map, blur
from facefusion.vision.raster import Triangles

FINE = 1.3
"""Detail finer than a Gaussian of this many pixels is compared with the next octave."""

TOLERANCE = 1.15
"""The source may be this many times as crisp as the target."""

BLURS = (0.0, 0.45, 0.65, 0.9, 1.2, 1.6, 2.1)
"""Blurs tried, in pixels."""

_STEPS_PER_OCTAVE = 4
_MIDDLE = (0.3, 0.7)
"""Part of the crop, across and down, in which the target is measured: eyes, nose, cheeks."""


class DetailSharpness:
    """Crispness of a source's skin at any scale, measured on its texture and remembered per quarter octave.

    Not thread-safe: asked by the one thread that observes.
    """

    def __init__(self, levels: Sequence[Map]) -> None:
        self._levels = [np.ascontiguousarray(level[..., 0]) for level in levels]
        self._known: dict[int, tuple[float, ...]] = {}

    def blur_to_match(self, crispness: float, texels_per_pixel: float) -> float:
        """Blur in pixels that makes the rendered source no crisper than the target; 0 where it is soft enough.

        Args:
            crispness: of the target.
            texels_per_pixel: of the full texture.
        """
        allowed = TOLERANCE * crispness
        own = self._at(texels_per_pixel)
        for place, amount in enumerate(own):
            if amount <= allowed:
                if place == 0:
                    return 0.0
                share = (own[place - 1] - allowed) / max(own[place - 1] - amount, 1e-6)
                return BLURS[place - 1] + share * (BLURS[place] - BLURS[place - 1])
        return BLURS[-1]

    def _at(self, texels_per_pixel: float) -> tuple[float, ...]:
        step = round(_STEPS_PER_OCTAVE * math.log2(max(texels_per_pixel, 1e-3)))
        if step not in self._known:
            self._known[step] = self._measure(2 ** (step / _STEPS_PER_OCTAVE))
        return self._known[step]

    def _measure(self, texels_per_pixel: float) -> tuple[float, ...]:
        level = texture_level(texels_per_pixel, len(self._levels))
        texture = self._levels[level]
        side = texture.shape[0]
        window = texture[round(0.3 * side) : round(0.74 * side), round(0.2 * side) : round(0.8 * side)]
        scale = texels_per_pixel / 2**level
        return tuple(_crispness(blur(window, amount * scale) if amount else window, scale) for amount in BLURS)


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


def crispness_of(patch: Pixels) -> float:
    """Crispness of the middle of a crop, 0 (no detail) upwards; about 1 for a sharp picture.

    Args:
        patch: :func:`middle_of` the crop.
    """
    return _crispness(np.ascontiguousarray(to_lab(patch)[..., 0]), 1)


def middle_of(size: int) -> tuple[int, int]:
    """First pixel and number of pixels, across as well as down, of the part of a crop that is measured."""
    first = round(_MIDDLE[0] * size)
    return first, round(_MIDDLE[1] * size) - first


def _crispness(lightness: Map, scale: float) -> float:
    soft = blur(lightness, FINE * scale)
    softer = blur(lightness, 2 * FINE * scale)
    return float(np.abs(lightness - soft).mean() / (np.abs(soft - softer).mean() + 1e-6))


@cache
def _middle_triangles() -> Triangles:
    flat = topology.texture_coordinates()[topology.triangles()].mean(axis=1)
    central = (np.abs(flat[:, 0] - 0.5) < 0.28) & (flat[:, 1] > 0.36) & (flat[:, 1] < 0.74)
    middle: Triangles = topology.triangles()[central]
    return middle
