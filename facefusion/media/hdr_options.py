"""HDR10's static metadata in the encoders' own words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TypeAlias

from facefusion.media.hdr import HdrMetadata, MasteringDisplay

Spelling: TypeAlias = Callable[[Fraction], str]
"""How a number is written."""

CHROMATICITY_UNITS, LIGHT_UNITS = 50_000, 10_000
"""Per 1 of x and y, and per cd/m2, in which x264 and x265 count as H.264 and H.265 do (SEI of ST 2086)."""


def hdr_options(encoder: str, hdr: HdrMetadata, options: Mapping[str, str]) -> dict[str, str] | None:
    """``options`` with the metadata among the encoder's own parameters; none where it has no such parameters."""
    if encoder not in PARAMETERS:
        return None
    option, spell = PARAMETERS[encoder]
    parts = [options[option]] if option in options else []
    return {**options, option: ":".join([*parts, *spell(hdr)])}


def _x264(hdr: HdrMetadata) -> list[str]:
    return _named(hdr, "mastering-display", "cll", _units(CHROMATICITY_UNITS), _units(LIGHT_UNITS))


def _x265(hdr: HdrMetadata) -> list[str]:
    named = _named(hdr, "master-display", "max-cll", _units(CHROMATICITY_UNITS), _units(LIGHT_UNITS))
    return [*named, "hdr10=1", "repeat-headers=1"]


def _svt_av1(hdr: HdrMetadata) -> list[str]:
    return _named(hdr, "mastering-display", "content-light", _decimal, _decimal)


PARAMETERS: Mapping[str, tuple[str, Callable[[HdrMetadata], list[str]]]] = {
    "libx264": ("x264-params", _x264),
    "libx265": ("x265-params", _x265),
    "libsvtav1": ("svtav1-params", _svt_av1),
}
"""Of each encoder that can be told: FFmpeg's option, and what goes into it."""


def _named(hdr: HdrMetadata, display: str, light: str, point: Spelling, luminance: Spelling) -> list[str]:
    parts = [] if hdr.mastering is None else [f"{display}={_display(hdr.mastering, point, luminance)}"]
    if hdr.light is not None:
        parts.append(f"{light}={hdr.light.pixel},{hdr.light.frame_average}")
    return parts


def _display(mastering: MasteringDisplay, point: Spelling, luminance: Spelling) -> str:
    colours = {"G": mastering.green, "B": mastering.blue, "R": mastering.red, "WP": mastering.white}
    points = "".join(f"{name}({point(colour.x)},{point(colour.y)})" for name, colour in colours.items())
    return f"{points}L({luminance(mastering.brightest)},{luminance(mastering.darkest)})"


def _units(count: int) -> Spelling:
    return lambda value: str(round(value * count))


def _decimal(value: Fraction) -> str:
    return f"{float(value):.6g}"
