"""Makes the source as soft and as smooth as the target: a sharp or grainy face in a soft picture shows.

Crispness is the finest detail over that of the next octave. It says how sharp a picture is, whatever its contrast and
however rough the skin that it shows: a smooth skin in a sharp picture does not smooth the source's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from facefusion.core.values import Landmarks478, Pixels
from facefusion.faces.surface import topology
from facefusion.faces.surface.tone import to_lab
from facefusion.processors.face_swapper.families.mesh.skin import TEXTURE_SIZE
from facefusion.vision.filters import Map, blur, median
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


@dataclass(frozen=True, slots=True)
class Finish:
    """How the source is rendered to be no crisper and no rougher than the target."""

    softness: float
    """Blur in pixels."""
    grain: float
    """Share of the source's own grain, 0 .. 1."""

    def towards(self, other: Finish, share: float) -> Finish:
        """Part of the way to another finish."""
        return Finish(
            self.softness + (other.softness - self.softness) * share, self.grain + (other.grain - self.grain) * share
        )


@dataclass(frozen=True, slots=True)
class Fineness:
    """Fine detail of a picture."""

    crispness: float
    """Finest detail over that of the next octave: 0 (none) upwards, about 1 for a sharp picture."""
    roughness: float
    """Median size of the finest detail, in units of L: that of plain skin, as features are few."""


class DetailSharpness:
    """Fine detail of a source's skin at any scale, measured on its texture and remembered per quarter octave.

    Takes the levels of a :class:`~facefusion.processors.face_swapper.families.mesh.light.Detail`. Not thread-safe:
    asked by the one thread that observes.
    """

    def __init__(self, levels: Sequence[Map]) -> None:
        self._levels = [np.ascontiguousarray(level[..., 0]) for level in levels]
        self._grain = [np.ascontiguousarray(level[..., 3]) for level in levels]
        self._known: dict[int, _Measured] = {}

    def match(self, target: Fineness, gain: float, texels_per_pixel: float) -> Finish:
        """How to render the source.

        Args:
            target: its fine detail.
            gain: contrast that the source is rendered with.
            texels_per_pixel: of the full texture.
        """
        own = self._at(texels_per_pixel)
        missing = target.roughness / max(gain, 1e-3) - own.smooth
        grain = min(max(missing / max(own.grain, 1e-6), 0.0), 1.0)
        return Finish(_blur_to(TOLERANCE * target.crispness, own.crispness), grain)

    def _at(self, texels_per_pixel: float) -> _Measured:
        step = round(_STEPS_PER_OCTAVE * math.log2(max(texels_per_pixel, 1e-3)))
        if step not in self._known:
            self._known[step] = self._measure(2 ** (step / _STEPS_PER_OCTAVE))
        return self._known[step]

    def _measure(self, texels_per_pixel: float) -> _Measured:
        level = texture_level(texels_per_pixel, len(self._levels))
        side = self._levels[level].shape[0]
        window = slice(round(0.3 * side), round(0.74 * side)), slice(round(0.2 * side), round(0.8 * side))
        scale = texels_per_pixel / 2**level
        smooth, grain = self._levels[level][window], np.ascontiguousarray(self._grain[level][window])
        return _Measured(
            crispness=tuple(
                _fineness(blur(smooth, soft * scale) if soft else smooth, scale).crispness for soft in BLURS
            ),
            smooth=_fineness(smooth, scale).roughness,
            grain=_fineness(grain, scale).roughness,
        )


@dataclass(frozen=True, slots=True)
class _Measured:
    crispness: tuple[float, ...]
    """Without grain, for each blur tried."""
    smooth: float
    """Roughness without grain."""
    grain: float
    """Roughness of the grain."""


def _blur_to(allowed: float, crispness: Sequence[float]) -> float:
    """The blur, between those tried, that brings the crispness down to what is allowed."""
    for place, amount in enumerate(crispness):
        if amount <= allowed:
            if place == 0:
                return 0.0
            share = (crispness[place - 1] - allowed) / max(crispness[place - 1] - amount, 1e-6)
            return BLURS[place - 1] + share * (BLURS[place] - BLURS[place - 1])
    return BLURS[-1]


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


def fineness_of(patch: Pixels) -> Fineness:
    """Fine detail of the middle of a crop.

    Args:
        patch: :func:`middle_of` the crop.
    """
    return _fineness(np.ascontiguousarray(to_lab(patch)[..., 0]), 1)


def middle_of(size: int) -> tuple[int, int]:
    """First pixel and number of pixels, across as well as down, of the part of a crop that is measured."""
    first = round(_MIDDLE[0] * size)
    return first, round(_MIDDLE[1] * size) - first


def _fineness(lightness: Map, scale: float) -> Fineness:
    soft = blur(lightness, FINE * scale)
    fine = np.abs(lightness - soft)
    coarser = np.abs(soft - blur(lightness, 2 * FINE * scale))
    return Fineness(float(fine.mean() / (coarser.mean() + 1e-6)), float(median(fine.ravel())))


@cache
def _middle_triangles() -> Triangles:
    flat = topology.texture_coordinates()[topology.triangles()].mean(axis=1)
    central = (np.abs(flat[:, 0] - 0.5) < 0.28) & (flat[:, 1] > 0.36) & (flat[:, 1] < 0.74)
    middle: Triangles = topology.triangles()[central]
    return middle
