"""Between high dynamic range and the levels of an ordinary display, on which faces are looked at and made.

What a processor gets of an HDR picture, and gives back, are levels 0..255 as of any other picture: BT.709 primaries, a
diffuse white near 214, bright light rolled off as in ITU-R BT.2390-8, 5.4.1 (EETF). The way back is the inverse, so
that what is pasted has the contrast and colour of the picture around it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import TypeAlias, cast

import cv2
import numpy as np
import numpy.typing as npt

Light: TypeAlias = npt.NDArray[np.float64]
"""cd/m2, or codes of it on 0..1."""

Levels: TypeAlias = npt.NDArray[np.float32]
"""Height x width x 3, BGR, 0..255."""


class DynamicRange(Enum):
    """How codes stand for light."""

    STANDARD = "standard"
    PQ = "PQ"
    """SMPTE ST 2084, with BT.2020's primaries."""
    HLG = "HLG"
    """ARIB STD-B67, with BT.2020's primaries."""


WHITE = 203.0
"""cd/m2 of a diffuse white (ITU-R BT.2408), which an ordinary display's brightest stands for."""
USUAL_PEAK = 1000.0
"""cd/m2; the brightest light of most masters, and HLG's nominal one (BT.2100)."""
GREATEST_PEAK = 10_000.0
"""cd/m2; the end of PQ."""
HLG_SYSTEM_GAMMA = 1.2
"""Of BT.2100 for a display of 1000 cd/m2."""
DISPLAY_GAMMA = 2.4
"""ITU-R BT.1886."""

BT2020_TO_BT709: Light = np.array(
    [[1.660491, -0.587641, -0.072850], [-0.124550, 1.132900, -0.008349], [-0.018151, -0.100579, 1.118730]]
)
"""Of linear R, G, B (ITU-R BT.2087)."""

STEPS = 1 << 14
"""Entries of a table, for what 12 bits tell apart; dark components of bright colours suffer from fewer."""


def pq_light(codes: Light) -> Light:
    """cd/m2 of PQ codes 0..1 (SMPTE ST 2084)."""
    root = np.clip(codes, 0.0, 1.0) ** (1 / 78.84375)
    linear = np.maximum(root - 0.8359375, 0.0) / (18.8515625 - 18.6875 * root)
    return np.asarray(GREATEST_PEAK * linear ** (1 / 0.1593017578125))


def pq_code(light: Light) -> Light:
    """PQ codes of cd/m2 (SMPTE ST 2084)."""
    power = (np.clip(light, 0.0, None) / GREATEST_PEAK) ** 0.1593017578125
    return np.asarray(((0.8359375 + 18.8515625 * power) / (1.0 + 18.6875 * power)) ** 78.84375)


def hlg_scene(codes: Light) -> Light:
    """Light of the scene, 0..1, of HLG codes 0..1: the inverse OETF of BT.2100, table 5."""
    a, b, c = 0.17883277, 0.28466892, 0.55991073
    return np.where(codes <= 0.5, codes**2 / 3.0, (np.exp((codes - c) / a) + b) / 12.0)


def rolled_off(light: Light, peak: float) -> Light:
    """cd/m2 up to ``peak`` brought below :data:`WHITE` by a spline in PQ; what lies below its knee stays."""
    end, target = (float(pq_code(np.array(value))) for value in (peak, WHITE))
    greatest = target / end
    knee = 1.5 * greatest - 0.5
    code = np.minimum(pq_code(light) / end, 1.0)
    if greatest >= 1.0:
        return pq_light(code * end)
    t = np.clip((code - knee) / (1.0 - knee), 0.0, 1.0)
    spline = (2 * t**3 - 3 * t**2 + 1) * knee + (t**3 - 2 * t**2 + t) * (1 - knee) + (-2 * t**3 + 3 * t**2) * greatest
    return pq_light(np.where(code < knee, code, spline) * end)


def to_display(levels: Levels, dynamic_range: DynamicRange) -> Levels:
    """Levels of an ordinary display for HDR codes on 0..255; light beyond its gamut and 1000 cd/m2 is clipped."""
    tables = _tables(dynamic_range)
    light = cv2.transform(tables.light_of_code[_places(levels / np.float32(255))], _BGR_TO_BT709)
    return tables.level_of_root[_places(_fourth_root(cast("Levels", light)))]


def from_display(levels: Levels, dynamic_range: DynamicRange) -> Levels:
    """HDR codes on 0..255 for levels of an ordinary display."""
    tables = _tables(dynamic_range)
    light = cv2.transform(tables.light_of_level[_places(levels / np.float32(255))], _BGR_FROM_BT709)
    return tables.code_of_root[_places(_fourth_root(cast("Levels", light)))]


@dataclass(frozen=True, slots=True)
class _Tables:
    """Component by component; light is a share of :data:`USUAL_PEAK`, and its fourth root spreads the dark evenly."""

    light_of_code: Levels
    level_of_root: Levels
    light_of_level: Levels
    code_of_root: Levels


@lru_cache(maxsize=2)
def _tables(dynamic_range: DynamicRange) -> _Tables:
    even = np.linspace(0.0, 1.0, STEPS)
    light = np.minimum(_shown_light(even, dynamic_range) / USUAL_PEAK, 1.0).astype(np.float64)
    level = (rolled_off(even**4 * USUAL_PEAK, USUAL_PEAK) / WHITE) ** (1.0 / DISPLAY_GAMMA)
    return _Tables(
        light_of_code=light.astype(np.float32),
        level_of_root=(255.0 * level).astype(np.float32),
        light_of_level=(np.interp(even, level, even) ** 4).astype(np.float32),
        code_of_root=(255.0 * _code_of_root(light, even)).astype(np.float32),
    )


def _code_of_root(light: Light, codes: Light) -> Light:
    """The codes whose light has each fourth root 0..1; of those that are as bright as it gets the lowest one.

    PQ's codes go on beyond what a table holds: the brightest level would else be the end of PQ, ten times as bright.
    """
    count = int(np.argmax(light)) + 1
    return np.interp(codes, light[:count] ** 0.25, codes[:count])


def _shown_light(codes: Light, dynamic_range: DynamicRange) -> Light:
    """cd/m2, each component by itself: HLG's system gamma would go by luminance, which has no inverse so simple."""
    if dynamic_range is DynamicRange.HLG:
        return USUAL_PEAK * hlg_scene(codes) ** HLG_SYSTEM_GAMMA
    return pq_light(codes)


_BGR_TO_BT709: Light = np.ascontiguousarray(BT2020_TO_BT709[::-1, ::-1])
_BGR_FROM_BT709: Light = np.linalg.inv(_BGR_TO_BT709).astype(np.float64)


def _places(shares: Levels) -> npt.NDArray[np.int32]:
    """Where shares 0..1 lie in a table."""
    places: npt.NDArray[np.int32] = np.rint(np.clip(shares, 0.0, 1.0) * np.float32(STEPS - 1)).astype(np.int32)
    return places


def _fourth_root(light: Levels) -> Levels:
    return cast("Levels", cv2.sqrt(cv2.sqrt(np.maximum(light, 0.0))))
