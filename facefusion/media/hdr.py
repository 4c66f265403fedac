"""What a high dynamic range stream says about the display it was made on."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
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


DYNAMIC = {
    "DYNAMIC_HDR_PLUS": "HDR10+",
    "DYNAMIC_HDR_VIVID": "HDR Vivid",
    "DOVI_METADATA": "Dolby Vision",
    "DOVI_RPU_BUFFER": "Dolby Vision",
}
"""What changes from scene to scene, by FFmpeg's names of the data attached to frames."""


def hdr_metadata(attached: Iterable[Mapping[str, bytes]]) -> HdrMetadata | None:
    """What is said by the data attached to a stream's first frames; none where nothing is.

    Args:
        attached: data by FFmpeg's names, frame by frame.
    """
    frames = list(attached)
    said = {name: data for frame in reversed(frames) for name, data in frame.items()}
    mastering = _mastering(said["MASTERING_DISPLAY_METADATA"]) if "MASTERING_DISPLAY_METADATA" in said else None
    light = _light(said["CONTENT_LIGHT_LEVEL"]) if "CONTENT_LIGHT_LEVEL" in said else None
    dynamic = tuple(sorted({DYNAMIC[name] for name in said if name in DYNAMIC}))
    return HdrMetadata(mastering, light, dynamic) if mastering or light or dynamic else None


def _mastering(data: bytes) -> MasteringDisplay | None:
    """From FFmpeg's AVMasteringDisplayMetadata: ten rationals of 32-bit numbers, then which of them are set."""
    *numbers, has_primaries, has_luminance = struct.unpack("=22i", data[:88])
    if not has_primaries or not has_luminance or 0 in numbers[1::2]:
        return None
    values = [Fraction(top, bottom) for top, bottom in zip(numbers[::2], numbers[1::2], strict=True)]
    red, green, blue, white = (Chromaticity(*values[place : place + 2]) for place in range(0, 8, 2))
    return MasteringDisplay(red, green, blue, white, darkest=values[8], brightest=values[9])


def _light(data: bytes) -> ContentLight | None:
    """From FFmpeg's AVContentLightMetadata; none where both numbers are 0, which means unknown."""
    pixel, frame_average = struct.unpack("=2I", data[:8])
    return ContentLight(pixel, frame_average) if pixel or frame_average else None
