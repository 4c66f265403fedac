"""What a high dynamic range stream says about the display it was made on."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple


class Chromaticity(NamedTuple):
    """A point of the CIE 1931 diagram."""

    x: Fraction
    y: Fraction


@dataclass(frozen=True, slots=True)
class MasteringDisplay:
    """Gamut and range of the display that the picture was graded on (SMPTE ST 2086)."""

    red: Chromaticity
    green: Chromaticity
    blue: Chromaticity
    white: Chromaticity
    darkest: Fraction
    """In candela per square metre."""
    brightest: Fraction
    """In candela per square metre."""


@dataclass(frozen=True, slots=True)
class ContentLight:
    """Greatest light of a pixel (MaxCLL) and of a frame on average (MaxFALL), in cd/m2 (CTA-861.3)."""

    pixel: int
    frame_average: int


@dataclass(frozen=True, slots=True)
class HdrMetadata:
    """HDR10's static metadata, and the names of dynamic kinds that no encoder here can be given."""

    mastering: MasteringDisplay | None = None
    light: ContentLight | None = None
    dynamic: tuple[str, ...] = ()
    """``HDR10+``, ``Dolby Vision``."""
