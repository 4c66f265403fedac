"""Between coded planes and BGR: matrix, range and depth of a stream, as in ITU-T H.273.

With E' in 0..1 and n bits, a limited-range stream codes luma as ``(219 E'Y + 16) 2^(n-8)`` and chroma as
``(224 E'C + 128) 2^(n-8)``; a full-range one as ``(2^n - 1) E'Y`` and ``(2^n - 1) E'C + 2^(n-1)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import TypeAlias, cast

import cv2
import numpy as np
import numpy.typing as npt

from facefusion.core.values import Pixels
from facefusion.vision.dynamic_range import DynamicRange, from_display, to_display

Plane: TypeAlias = npt.NDArray[np.uint8] | npt.NDArray[np.uint16]
"""Height x width (x 3 where the components are interleaved) of codes; ``uint8`` up to 8 bits, else ``uint16``."""


class Matrix(Enum):
    """Weights of red and blue in luma (H.273, table 4); the value is ``(K_R, K_B)``."""

    FCC = (0.30, 0.11)
    BT601 = (0.299, 0.114)
    SMPTE240M = (0.212, 0.087)
    BT709 = (0.2126, 0.0722)
    BT2020 = (0.2627, 0.0593)
    """Non-constant luminance."""


@dataclass(frozen=True, slots=True)
class Coding:
    """How the numbers in the planes stand for colour."""

    matrix: Matrix
    full_range: bool
    bit_depth: int
    """Bits per component, 8 to 16."""
    dynamic_range: DynamicRange = DynamicRange.STANDARD
    """Above the standard one, BGR is what :mod:`facefusion.vision.dynamic_range` makes of the codes."""

    @property
    def peak(self) -> int:
        """Greatest code."""
        return (1 << self.bit_depth) - 1

    @property
    def neutral(self) -> int:
        """Chroma code of a grey."""
        return 1 << (self.bit_depth - 1)

    @property
    def dtype(self) -> type[np.uint8] | type[np.uint16]:
        """Type of one code."""
        return np.uint8 if self.bit_depth <= 8 else np.uint16


@lru_cache(maxsize=64)
def encoding_map(coding: Coding) -> npt.NDArray[np.float64]:
    """3x4 map from (B, G, R) on 0..255 to codes (Y, U, V)."""
    red, blue = coding.matrix.value
    luma = np.array([blue, 1.0 - red - blue, red])
    chroma_blue = (np.array([1.0, 0.0, 0.0]) - luma) / (2.0 * (1.0 - blue))
    chroma_red = (np.array([0.0, 0.0, 1.0]) - luma) / (2.0 * (1.0 - red))
    step = float(1 << (coding.bit_depth - 8))
    if coding.full_range:
        spans, offset = (float(coding.peak), float(coding.peak)), 0.0
    else:
        spans, offset = (219.0 * step, 224.0 * step), 16.0 * step
    linear = np.stack((luma * spans[0], chroma_blue * spans[1], chroma_red * spans[1])) / 255.0
    table = np.column_stack((linear, (offset, coding.neutral, coding.neutral)))
    table.flags.writeable = False
    return table


@lru_cache(maxsize=64)
def decoding_map(coding: Coding) -> npt.NDArray[np.float64]:
    """3x4 map from codes (Y, U, V) to (B, G, R) on 0..255."""
    forward = encoding_map(coding)
    linear = np.linalg.inv(forward[:, :3])
    table = np.column_stack((linear, -linear @ forward[:, 3]))
    table.flags.writeable = False
    return table


def planes_to_bgr(planes: Sequence[Plane], coding: Coding, *, as_float: bool = False) -> Pixels:
    """Turn planes of one size into BGR.

    Args:
        planes: Y, U and V, or Y alone for grey.
        coding: of the planes.
        as_float: keep fractions of a level (``float32``); else the nearest level. The 8-bit to 8-bit case is done in
            OpenCV's fixed point and may be off by one level in a few percent of the samples.
    """
    if coding.dynamic_range is not DynamicRange.STANDARD:
        levels = cast("npt.NDArray[np.float32]", _decoded(planes, coding, as_float=True))
        return as_pixels(to_display(levels, coding.dynamic_range), as_float=as_float)
    return _decoded(planes, coding, as_float=as_float)


def _decoded(planes: Sequence[Plane], coding: Coding, *, as_float: bool) -> Pixels:
    table = decoding_map(coding)
    if len(planes) == 1:
        gain, black = float(table[0, 0]), float(encoding_map(coding)[0, 3])
        return _grey_to_bgr(planes[0], gain, -gain * black, as_float=as_float)
    codes = cv2.merge(list(planes))
    if codes.dtype == np.uint8 and not as_float:
        return cast("Pixels", cv2.transform(codes, table))
    levels = cv2.transform(codes.astype(np.float32), table)
    return as_pixels(cast("npt.NDArray[np.float32]", levels), as_float=as_float)


def _grey_to_bgr(plane: Plane, gain: float, offset: float, *, as_float: bool) -> Pixels:
    if plane.dtype == np.uint8 and not as_float:
        table = np.clip(np.rint(np.arange(256) * gain + offset), 0, 255).astype(np.uint8)
        return cast("Pixels", cv2.cvtColor(cv2.LUT(plane, table), cv2.COLOR_GRAY2BGR))
    levels = plane.astype(np.float32) * np.float32(gain) + np.float32(offset)
    return as_pixels(cast("npt.NDArray[np.float32]", cv2.cvtColor(levels, cv2.COLOR_GRAY2BGR)), as_float=as_float)


def bgr_to_planes(pixels: Pixels, coding: Coding, *, grey: bool = False) -> tuple[Plane, ...]:
    """Turn BGR into planes Y, U and V of the same size; into Y alone for ``grey``."""
    if coding.dynamic_range is not DynamicRange.STANDARD:
        pixels = from_display(pixels.astype(np.float32), coding.dynamic_range)
    table = encoding_map(coding)[: 1 if grey else 3]
    if pixels.dtype == np.uint8 and coding.bit_depth == 8:
        codes = cv2.transform(pixels, table)
    else:
        codes = as_codes(cast("npt.NDArray[np.float32]", cv2.transform(pixels.astype(np.float32), table)), coding)
    return (cast("Plane", codes),) if grey else cast("tuple[Plane, ...]", tuple(cv2.split(codes)))


def as_pixels(levels: npt.NDArray[np.float32], *, as_float: bool) -> Pixels:
    """Clip levels to 0..255 and, unless ``as_float``, round them to ``uint8``."""
    return np.clip(levels, 0.0, 255.0) if as_float else to_nearest_level(levels)


def to_nearest_level(levels: Pixels) -> npt.NDArray[np.uint8]:
    """Clip and round to ``uint8``; what has that type already is handed back as it is."""
    if levels.dtype == np.uint8:
        return cast("npt.NDArray[np.uint8]", levels)
    rounded: npt.NDArray[np.uint8] = np.rint(np.clip(levels, 0.0, 255.0)).astype(np.uint8)
    return rounded


def as_codes(values: npt.NDArray[np.float32], coding: Coding) -> Plane:
    """Round and clip values to codes."""
    rounded = np.clip(np.rint(values), 0, coding.peak)
    return rounded.astype(np.uint8) if coding.bit_depth <= 8 else rounded.astype(np.uint16)
