"""Holds a source's skin to what is usual for it: blotches go, features and fine texture stay.

A photo's skin carries more than the person: traces of hair strands, the edge of a cast shadow, a highlight, reddening.
Drawn on another head under other light they look like bruises. They lie on skin, are unlike the rest of it, and hardly
ever have a twin on the other side, as cheekbones, sockets and folds have. So the detail is split into shading, which is
even (the same on both sides) or uneven, and texture finer than it; each is left as it is up to a few times its own
usual deviation and bent beyond. Brows, lips and nostrils are left alone; beside features the limits are wider, since
there shading is shape.

A blotch without a twin is half even and half uneven by this reckoning. Where it is strong its even half goes too; a
weak one is left half, since faces are never quite even.

Measured on ten pairs of portraits: the similarity to the source stays (mean 0.557), while bending even shading as
tightly as uneven would cost 0.02 to 0.1, and taking weak blotches wholly 0.02.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from facefusion.core.values import Size
from facefusion.faces.surface import atlas
from facefusion.vision.filters import Map, blur, median, resize, smooth_step

_SHADING = 0.012
"""Width of the blur that tells shading from texture, in sides of the unwrapped picture."""

_EVEN_LIMITS = (3.0, 99.0)
"""How many usual deviations even shading may have, on plain skin and beside features, where it has no limit."""

_UNEVEN_LIMITS = (0.7, 1.2)
"""The same for uneven shading."""

_TEXTURE_LIMITS = (4.0, 8.0)
"""The same for texture."""

_BLOTCH = (3.0, 7.0)
"""Excess of uneven L from which on the even part is taken for a half of the same blotch, and is so altogether."""

_ROOM = 0.5
"""How far a value may get beyond its limit, in limits."""

_LEAST_SHADING = np.array((1.2, 0.8, 0.8), np.float32)
_LEAST_TEXTURE = np.array((0.5, 0.3, 0.3), np.float32)
"""Deviations of L, a' and b' below which no skin is taken to be."""


def calm(detail: Map) -> Map:
    """Bend what is unusual in a source's detail.

    Args:
        detail: (L, a', b') minus the light, unwrapped, n x n x 3.

    Returns:
        The same without blotches.
    """
    size = Size(detail.shape[1], detail.shape[0])
    shading = blur(detail, _SHADING * size.width)
    texture = detail - shading
    plain, skin = (resize(plane, size) for plane in _plain_skin())
    usual = plain > 0.5
    even = (shading + shading[:, ::-1]) * np.float32(0.5)
    uneven = shading - even
    twinned = _bent(uneven, plain, usual, _UNEVEN_LIMITS, _LEAST_SHADING)
    bent = _bent(_like_the_usual_side(even, uneven - twinned), plain, usual, _EVEN_LIMITS, _LEAST_SHADING)
    bent += twinned
    bent += _bent(texture, plain, usual, _TEXTURE_LIMITS, _LEAST_TEXTURE)
    calmed: Map = detail + (bent - detail) * skin[..., None]
    return _without_shine(calmed, usual, resize(atlas.masks(atlas.DETAIL).brows, size))


def _like_the_usual_side(even: Map, excess: Map) -> Map:
    """Take a blotch's excess from what both sides have in common as well.

    Where a blotch of depth d lies on one side only, both the even and the uneven part hold d / 2. Bending the uneven
    part by e leaves d - e here and e on the other side; taking e from the even part too leaves d - 2e and nothing.
    """
    taken = np.abs(excess) * smooth_step(np.abs(excess[..., :1]), *_BLOTCH)
    moved: Map = np.copysign(np.maximum(np.abs(even) - taken, 0), even)
    return moved


def _without_shine(detail: Map, usual: npt.NDArray[np.bool_], brows: Map) -> Map:
    """Dim what is brighter on a brow than skin ever is: a strand of fair hair, colour and all."""
    lightness = detail[..., 0]
    bright = np.float32(np.percentile(lightness[usual], 95))
    share = np.minimum(1, bright / np.maximum(lightness, bright))
    dimmed: Map = detail * (1 - brows * (1 - share))[..., None]
    return dimmed


def _bent(
    values: Map,
    plain: Map,
    usual: npt.NDArray[np.bool_],
    limits: tuple[float, float],
    least: npt.NDArray[np.float32],
) -> Map:
    """Bring values that lie beyond a limit near it; the limits are for plain skin and for skin beside features."""
    samples = values[usual]
    middle = median(samples)
    deviation = np.maximum(np.float32(1.4826) * median(np.abs(samples - middle)), least)
    wide = np.float32(limits[1]) + np.float32(limits[0] - limits[1]) * plain
    limit = wide[..., None] * deviation
    beyond = np.abs(values - middle) - limit
    room = limit * np.float32(_ROOM)
    kept = np.where(beyond > 0, limit + room * np.tanh(beyond / room), beyond + limit)
    bent: Map = middle + np.copysign(kept, values - middle)
    return bent


@cache
def _plain_skin() -> tuple[Map, Map]:
    """1 on skin away from all features, falling to 0 beside them; and 1 on all skin, 0 on features."""
    parts = atlas.masks(atlas.DETAIL)
    features = np.maximum.reduce((parts.lids, parts.brows, parts.lips, parts.nose, parts.creases))
    near = blur(features, 0.03 * atlas.DETAIL)
    plain = 1 - smooth_step(near, 0.03, 0.35)
    skin = 1 - smooth_step(np.maximum.reduce((parts.brows, parts.creases)), 0.2, 0.8)
    return plain * parts.inside, skin
