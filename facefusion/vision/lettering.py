"""A line of text as ink.

The fonts are those that OpenCV carries: Rubik for Latin and Cyrillic, and one that reaches to Greek, Chinese, Japanese
and Korean for what Rubik lacks. No font of the machine is looked for, so that every machine draws the same.
"""

from __future__ import annotations

import unicodedata
from typing import cast

import cv2
import numpy as np
import numpy.typing as npt

from facefusion.core.values import Mask

FONT = "sans"
WEIGHT = 600
"""Of 100 to 1000: bold enough to be read in a small picture, not so bold that it runs together."""
TALL = "ÁÇy|"
"""What reaches as high and as low as most letters, so that lines of one size have one height."""

OVERSIZE = 4
"""Letters are drawn so many times as large and made smaller: OpenCV sets small ones at whole pixels, and then gaps
between words close."""

TRIED_AT = 32
"""Pixels; the size at which letters are told from the mark that stands for those that are missing."""
MISSING = "?"
"""What OpenCV draws for a character that no font of its has."""

UNDRAWN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Mc", "Me", "Mn", "Zl", "Zp"})
"""Categories of Unicode whose characters have no shape of their own, or change that of their neighbours."""
LEFTWARDS = frozenset({"R", "AL"})
"""Directions in which OpenCV does not write: it would set the letters in the wrong order, and those of Arabic apart."""


def undrawable(text: str) -> str:
    """Those characters of a text that cannot be drawn, each once."""
    missing = lettering(MISSING, TRIED_AT)
    found = (one for one in dict.fromkeys(text) if one not in {MISSING, " "} and not _is_drawn(one, missing))
    return "".join(found)


def lettering(text: str, size: int) -> Mask:
    """A line of text.

    Args:
        text: of characters that can be drawn.
        size: of the letters, from the foot of one line to that of the next, in pixels.

    Returns:
        How much of each pixel is ink, 0..1; as high as the tallest and lowest letters reach, as wide as the text.
    """
    large = size * OVERSIZE
    canvas, tall = _drawn(text, large), _drawn(TALL, large)
    left, top, across, down = cv2.boundingRect(canvas)
    _, highest, _, extent = cv2.boundingRect(tall)
    top, bottom = min(top, highest) if down else highest, max(top + down, highest + extent)
    ink = canvas[top:bottom, left : left + across].astype(np.float32)
    ink = np.pad(ink, [(0, -length % OVERSIZE) for length in ink.shape])
    height, width = (length // OVERSIZE for length in ink.shape)
    if not width:
        return np.zeros((height, 0), np.float32)
    return cast("Mask", cv2.resize(ink, (width, height), interpolation=cv2.INTER_AREA) / np.float32(255))


def _is_drawn(character: str, missing: Mask) -> bool:
    if unicodedata.category(character) in UNDRAWN or unicodedata.bidirectional(character) in LEFTWARDS:
        return False
    ink = lettering(character, TRIED_AT)
    return bool(ink.any()) and not np.array_equal(ink, missing)


def _drawn(text: str, size: int) -> npt.NDArray[np.uint8]:
    """A text with room around it, its foot at the same height whatever it is."""
    font = cv2.FontFace(FONT)
    left, _, width, _ = cv2.getTextSize((0, 0), text, (0, 0), font, size, WEIGHT)
    # Wide enough that nothing is wrapped: what would be drawn beyond the right edge begins again at the left.
    canvas = np.zeros((3 * size, width + 2 * size), np.uint8)
    cv2.putText(canvas, text, (size - left, 2 * size), (255,), font, size, WEIGHT)
    return canvas
