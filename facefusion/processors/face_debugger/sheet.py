"""Drawing onto a part of a picture, in its own pixel format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import cv2
import numpy as np
import numpy.typing as npt

from facefusion.core.values import Mask, Picture

Colour: TypeAlias = tuple[int, int, int]
"""BGR."""

Points: TypeAlias = npt.NDArray[np.float32]
"""n x 2, in the picture."""

SUBPIXEL_BITS = 4
MARGIN = 4
"""Pixels drawn around the outermost mark."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Dots, or a line through points."""

    points: Points
    colour: Colour
    closed: bool | None = None
    """Whether the line runs back to its start; None for dots."""
    bolder: int = 0
    """How many pixels thicker than others."""


def draw(picture: Picture, marks: Sequence[Mark], thickness: int) -> None:
    """Draw onto a picture, later marks over earlier ones; what lies outside of it is not drawn.

    Args:
        picture: changed in place.
        marks: what to draw.
        thickness: of lines and half of dots, in pixels.
    """
    marks = [mark for mark in marks if len(mark.points)]
    if not marks:
        return
    points = np.concatenate([mark.points for mark in marks])
    margin = MARGIN + 2 * thickness
    low = np.maximum(np.floor(points.min(axis=0)).astype(int) - margin, 0)
    high = np.minimum(np.ceil(points.max(axis=0)).astype(int) + margin + 1, picture.size)
    width, height = (int(length) for length in high - low)
    if width < 1 or height < 1:
        return
    pixels, ink = np.zeros((height, width, 3), np.uint8), np.zeros((height, width), np.uint8)
    for mark in marks:
        fixed = np.rint((mark.points - low) * (1 << SUBPIXEL_BITS)).astype(np.int32)
        for image, value in ((pixels, mark.colour), (ink, (255,))):
            _draw(image, mark, fixed, value, thickness)
    mask: Mask = (ink > 0).astype(np.float32)
    x, y = (float(value) for value in low)
    picture.paste(pixels, mask, np.array(((1.0, 0.0, -x), (0.0, 1.0, -y))))


def _draw(
    image: npt.NDArray[np.uint8], mark: Mark, fixed: npt.NDArray[np.int32], value: tuple[int, ...], thickness: int
) -> None:
    if mark.closed is not None:
        cv2.polylines(image, [fixed], mark.closed, value, thickness + mark.bolder, cv2.LINE_8, SUBPIXEL_BITS)
        return
    for x, y in fixed.tolist():
        cv2.circle(image, (x, y), thickness << SUBPIXEL_BITS, value, cv2.FILLED, cv2.LINE_8, SUBPIXEL_BITS)
