"""Tells bare skin from what lies over it: hair, hats, frames, beards."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from facefusion.faces.surface.atlas import Masks
from facefusion.vision.filters import Map, blur, dilate, grow_within, median, smooth_step

_LAB_SPREAD_LOW = np.array((4, 2, 2), np.float32)
_LAB_SPREAD_HIGH = np.array((9, 4, 5), np.float32)
_LAB_SPREAD_EXTRA = np.array((3, 1.5, 1.5), np.float32)
"""The skin's own variation is taken as its median deviation, held between the first two, plus the third."""

_BEARDED = 0.25
"""Share of chin and upper lip that has to be dark in a bearded face."""

_SAME_SKIN = np.array((6, 4, 4), np.float32)
_BRIGHTER_COUNTS = 0.35
"""A highlight is no hair: what is brighter than the skin's median counts only this much."""

_BRIGHTER_COUNTS_IN_SOURCE = 0.7
"""In a source it may as well be an ear or the background, and nothing is lost by leaving it out."""


@dataclass(frozen=True, slots=True)
class SkinColour:
    """What bare skin looks like."""

    middle: npt.NDArray[np.float32]
    """Lab."""
    spread: npt.NDArray[np.float32]
    """How far it varies around that, in Lab."""


@dataclass(frozen=True, slots=True)
class Covering:
    """Soft maps, 0 .. 1."""

    hair: Map
    """Hair, hat or frame over what should be skin."""
    beard: Map
    """Darker than skin below the nose: beard or deep shadow."""
    forehead: SkinColour
    """Of the upper face."""


def find_covering(lab: Map, parts: Masks, facing: Map, *, of_source: bool) -> Covering:
    """Compare each place of an unwrapped face to the skin of its cheeks, nose and chin.

    Three signs speak for hair: a colour far from the skin's, a texture rougher than the skin's, and, deeper inside the
    face, a chromaticity that shaded skin does not have. The first two are looked for at the rim and on the upper
    forehead only, never beside brows and lids; the third grows inwards from there.

    Args:
        lab: unwrapped face in Lab, n x n x 3.
        parts: the maps of that size.
        facing: how much the surface looks at the camera, n x n, 0 .. 1.
        of_source: be stricter with bright places, and leave the rim below the mouth of a bearded face alone, so that
            the beard counts as part of it.
    """
    size = lab.shape[0]
    core = (parts.skin > 0.9) & (parts.height > 0.42) & (parts.rim_distance > 0.1) & (facing > 0.4)
    if np.count_nonzero(core) < 40:
        core = parts.skin > 0.5
    reference, spread = _skin_colour(lab, parts, facing, core)
    error = lab - reference
    scale = np.clip(spread, _LAB_SPREAD_LOW, _LAB_SPREAD_HIGH) + _LAB_SPREAD_EXTRA
    brighter = _BRIGHTER_COUNTS_IN_SOURCE if of_source else _BRIGHTER_COUNTS
    odd = _colour_distance(error, scale, brighter) + _roughness(lab[..., 0], core)
    rim = np.maximum(1 - smooth_step(parts.rim_distance, 0.12, 0.2), 1 - smooth_step(parts.height, 0.25, 0.275))
    rim *= (1 - parts.brows) * (1 - parts.lids) * (parts.skin > 0.2)
    low = smooth_step(parts.height, 0.52, 0.6) * (parts.skin > 0.2) * (error[..., 0] < 0)
    beard = smooth_step(blur(odd, size / 100), 1.6, 2.6) * low
    if of_source and (beard * parts.beard_places).sum() > _BEARDED * parts.beard_places.sum():
        rim *= 1 - smooth_step(parts.height, 0.58, 0.66) * smooth_step(parts.rim_distance, 0.02, 0.05)
    at_rim = smooth_step(blur(odd, size / 128), 1.9, 3.1) * rim
    deeper = blur(_unlike_shaded_skin(lab, reference, error, parts) * (parts.skin > 0.35), size / 160)
    deeper *= parts.skin > 0.35
    seeds = np.maximum(at_rim, deeper * (parts.rim_distance < 0.06))
    hair = np.maximum(at_rim, grow_within(seeds, np.maximum(deeper, at_rim), size // 4))
    width = max(3, (size // 64) | 1)
    forehead = SkinColour(reference[0, 0].copy(), scale)
    return Covering(blur(dilate(hair, width), size / 110), blur(dilate(beard, 3), size / 110), forehead)


def strangeness(lab: Map, skin: SkinColour) -> Map:
    """How far each colour is from bare skin's, in its spread: about 1 is usual, from 3 on it is none."""
    return _colour_distance(lab - skin.middle, skin.spread, _BRIGHTER_COUNTS)


def _skin_colour(
    lab: Map, parts: Masks, facing: Map, core: npt.NDArray[np.bool_]
) -> tuple[Map, npt.NDArray[np.float32]]:
    """The colour expected at each place, and how much bare skin varies around it."""
    samples = lab[core]
    middle = median(samples)
    spread = np.float32(1.4826) * median(np.abs(samples - middle))
    band = (parts.skin > 0.8) & (parts.height > 0.2) & (parts.height < 0.285)
    band &= (parts.rim_distance > 0.1) & (facing > 0.6)
    if np.count_nonzero(band) > 20:
        forehead = median(lab[band])
        if np.abs((forehead - middle) / (spread + _SAME_SKIN)).max() < 2:
            return np.where((parts.height < 0.36)[..., None], forehead, middle), spread
    return np.broadcast_to(middle, lab.shape), spread


def _colour_distance(error: Map, scale: npt.NDArray[np.float32], brighter: float) -> Map:
    darker = np.where(error[..., 0] < 0, error[..., 0], np.float32(brighter) * error[..., 0])
    squared = np.square(darker / scale[0]) + np.square(error[..., 1] / scale[1]) + np.square(error[..., 2] / scale[2])
    distance: Map = np.sqrt(np.float32(0.8) * squared)
    return distance


def _roughness(lightness: Map, core: npt.NDArray[np.bool_]) -> Map:
    """How much stronger the local contrast is than that of bare skin."""
    size = lightness.shape[0]
    contrast = blur(np.abs(lightness - blur(lightness, size / 90)), size / 64)
    usual = float(median(contrast[core]))
    rough: Map = np.float32(0.35) * np.clip(contrast * np.float32(1 / (usual + 0.6)) - np.float32(2.2), 0, 4)
    return rough


def _unlike_shaded_skin(lab: Map, reference: Map, error: Map, parts: Masks) -> Map:
    """Dark and of another chromaticity; or so dark that no shadow makes it; or fair: less red without being paler.

    Darkness says nothing below the nose, where there may be a beard.
    """
    own, expected = _chromaticity(lab), _chromaticity(reference)
    off_colour = np.hypot(own[0] - expected[0], own[1] - expected[1])
    darkness = -error[..., 0]
    both = smooth_step(darkness, 14, 23) * smooth_step(off_colour, 8, 13)
    fair = smooth_step(expected[0] - own[0], 5, 9) * smooth_step(own[1] - expected[1], -4, 0)
    dark = np.maximum(both, smooth_step(darkness, 40, 52)) * (1 - smooth_step(parts.height, 0.56, 0.64))
    either: Map = np.maximum(dark, fair)
    return either


def _chromaticity(lab: Map) -> tuple[Map, Map]:
    scale = np.float32(60) / (lab[..., 0] + np.float32(12))
    return lab[..., 1] * scale, lab[..., 2] * scale
