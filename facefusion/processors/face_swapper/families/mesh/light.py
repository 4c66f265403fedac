"""Brings the source's skin into the target's light and colour.

Both faces are compared unwrapped, so that the same place is the same part of the face. Light and complexion are the
wide blur of the skin's tone; what remains is detail. The result is the source's detail, scaled to the contrast that
the target's skin shows, over the target's light.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from facefusion.core.values import Size
from facefusion.faces.surface import atlas
from facefusion.faces.surface.tone import to_tone
from facefusion.processors.face_swapper.families.mesh.calm import calm
from facefusion.processors.face_swapper.families.mesh.grain import split_grain
from facefusion.processors.face_swapper.families.mesh.reach import border_distance
from facefusion.processors.face_swapper.families.mesh.skin import TEXTURE_SIZE, Skin
from facefusion.vision.filters import Map, blur, median, resize, smooth_ramp, smooth_step, weighted_blur

FIELD = 48
"""Side of the maps that light is measured in."""

_WIDE = (0.17 * FIELD, 0.12 * FIELD)
"""Width of the blur that separates light from detail, across and down: about a tenth of the crop."""

_NARROW = (0.06 * FIELD, 0.045 * FIELD)
"""The same at the rim of the face, where the result has to meet the target's own skin."""

_BORDER = 0.012
"""Distance from the border of what is known of a source within which detail fades in, in sides of the picture."""

_SHADED = 0.03
"""Distance from that border within which only fine detail counts: shading there would draw a line."""

_SHADING = 0.027
"""Width of the blur that tells shading from fine detail, in sides of the picture."""

SMALLEST_TEXTURE = 64

_COLOUR_LIMIT = np.float32(12)
_LIP_COLOUR = np.float32(18)
_COLOUR_GAIN = (0.6, 1.2)
_CHROMA_GAIN = 1.3
"""Limit of the gains of a' and b', over the ratio of the chromas.

Detail in colour is skin that is more or less itself, up to a highlight, which has no colour of its own. On paler skin
it has to shrink, or highlights turn out cyan and shadows yellow.
"""
_GAIN_LIMIT = (0.45, 2.0)
_EXPOSURE_GAIN = (0.6, 1.25)
"""Limits of the gain of L, over the ratio of the exposures."""
_BLACK = (1.0, 10.0)
"""A target darker than the first has no visible detail, one lighter than the second all of it."""

Gain = npt.NDArray[np.float32]
"""Shape (3,): factors for L, a' and b'."""


@dataclass(frozen=True, slots=True)
class Light:
    """What turns the source's detail into the target's tone: ``detail * gain + field``."""

    field: Map
    """FIELD x FIELD x 3."""
    gain: Gain
    grey: bool
    """The target has no colour at all."""


@dataclass(frozen=True, slots=True)
class Detail:
    """A source's skin without its light."""

    levels: tuple[Map, ...]
    """At texture size and halved again and again: (L, a', b') minus the wide blur and the grain, and the grain of L.

    Four channels in one picture, since OpenCV samples four faster than three.
    """
    field: Map
    """The same at FIELD size."""
    lightness: float
    """Mean L of the skin."""
    chroma: float
    """Of the skin's mean a' and b'."""
    weights: Map
    """Beardless skin at FIELD size."""


def separate_detail(skin: Skin) -> Detail:
    """Take the light off a source's skin. Chroma detail is bent to at most 12 units by a hyperbolic tangent."""
    tone = to_tone(skin.texture)
    small = Size(FIELD, FIELD)
    bare = atlas.masks(FIELD).skin
    beardless = bare * resize(skin.beardless, small)
    weights = beardless if beardless.sum() > 0.25 * bare.sum() else bare
    reduced = resize(tone, small)
    mean = _mean(reduced, weights)
    light, support = _spread(reduced, weights, _rim())
    light = _blend(light, mean, smooth_step(support, 0.03, 0.2))
    detail = tone - resize(light, Size(TEXTURE_SIZE, TEXTURE_SIZE))
    limit = _COLOUR_LIMIT + _LIP_COLOUR * resize(atlas.masks(atlas.DETAIL).lips, Size(TEXTURE_SIZE, TEXTURE_SIZE))
    limit = limit[..., None]
    detail[..., 1:] = limit * np.tanh(detail[..., 1:] / limit)
    detail = _faded(calm(detail), skin.known)
    features, grain = split_grain(detail)
    return Detail(
        levels=_halvings(np.dstack((features, grain))),
        field=resize(detail, small),
        lightness=float(mean[0]),
        chroma=_chroma(mean),
        weights=weights,
    )


def measure_light(tone: Map, weights: Map, beardless: Map, detail: Detail) -> Light:
    """Compare the target's unwrapped face with the source's detail.

    Args:
        tone: (L, a', b') of the target, FIELD x FIELD x 3.
        weights: where the target shows its bare skin, FIELD x FIELD.
        beardless: 0 where the target has a beard.
        detail: of the source.
    """
    own = weights * beardless
    if own.sum() < 0.25 * weights.sum():
        own = weights
    others = weights * detail.weights
    light, support = _spread(tone, own, _rim())
    drift, other_support = _spread(detail.field, others, _rim())
    sure = smooth_step(np.minimum(support, other_support), 0.03, 0.2)
    mean = _mean(tone, own)
    light = _blend(light, mean, sure)
    drift = _blend(drift, _mean(detail.field, others), sure)
    gain, grey = _gain(tone - light, detail.field - drift, own * others, weights, mean, detail)
    field = light - drift * gain
    if grey:
        field[..., 1:] = 0
    return Light(field, gain, grey)


def _gain(
    target: Map, source: Map, shared: Map, weights: Map, mean: npt.NDArray[np.float32], detail: Detail
) -> tuple[Gain, bool]:
    """Contrast of the target's detail over that of the source's, held within limits around the exposure's ratio."""
    exposure = (float(mean[0]) + 4) / (detail.lightness + 4)
    upper = (shared > 0.5) & (atlas.masks(FIELD).height < 0.6)
    if np.count_nonzero(upper) < 30:
        upper = weights > 0.3
    if not upper.any():
        upper = np.ones_like(upper)
    spread = median(np.abs(target[upper])) + np.float32(7e-4)
    ratio = (spread / (median(np.abs(source[upper])) + np.float32(7e-4))).tolist()
    gain = np.array(
        [
            min(
                max(ratio[0], _EXPOSURE_GAIN[0] * exposure, _GAIN_LIMIT[0]),
                _EXPOSURE_GAIN[1] * exposure,
                _GAIN_LIMIT[1],
            ),
            min(max(ratio[1], _COLOUR_GAIN[0]), _COLOUR_GAIN[1]),
            min(max(ratio[2], _COLOUR_GAIN[0]), _COLOUR_GAIN[1]),
        ],
        np.float32,
    )
    chroma = _chroma(mean)
    gain[1:] = np.minimum(gain[1:], np.float32(_CHROMA_GAIN * chroma / max(detail.chroma, 1)))
    gain *= smooth_ramp(float(mean[0]), *_BLACK)
    gain[1:] *= smooth_ramp(chroma, 1.5, 6)
    return gain, chroma < 0.3


def _chroma(tone: npt.NDArray[np.float32]) -> float:
    return float(np.hypot(tone[1], tone[2]))


def _halvings(texture: Map) -> tuple[Map, ...]:
    levels = [texture]
    while levels[-1].shape[0] > SMALLEST_TEXTURE:
        side = levels[-1].shape[0] // 2
        levels.append(resize(levels[-1], Size(side, side)))
    return tuple(levels)


def _rim() -> Map:
    """1 at the rim of the face, 0 well inside."""
    return 1 - smooth_step(atlas.masks(FIELD).rim_distance, 0.015, 0.08)


def _faded(detail: Map, known: Map) -> Map:
    """Detail without what the border of a photo's view does to it.

    There skin turns away from the camera or lies in the shadow of hair, which is neither detail nor the target's light.
    """
    full = Size(detail.shape[1], detail.shape[0])
    distance = border_distance(known)
    shading = blur(detail, _SHADING * full.width) * (1 - resize(smooth_step(distance, 0, _SHADED), full))[..., None]
    faded: Map = (detail - shading) * resize(smooth_step(distance, 0, _BORDER), full)[..., None]
    return faded


def _spread(values: Map, weights: Map, narrowly: Map) -> tuple[Map, Map]:
    """The weighted blur, narrow instead of wide to the degree ``narrowly``, and the weight that it rests on."""
    wide, support = weighted_blur(values, weights, *_WIDE)
    narrow, near_support = weighted_blur(values, weights, *_NARROW)
    share = narrowly * smooth_step(near_support, 0.03, 0.2)
    return wide + (narrow - wide) * share[..., None], support


def _mean(values: Map, weights: Map) -> npt.NDArray[np.float32]:
    mean: npt.NDArray[np.float32] = (values * weights[..., None]).sum(axis=(0, 1)) / (weights.sum() + np.float32(1e-6))
    return mean


def _blend(values: Map, other: npt.NDArray[np.float32], share: Map) -> Map:
    weight = share[..., None]
    return values * weight + other * (1 - weight)
