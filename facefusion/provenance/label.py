"""The visible label: a line of text in a corner of every frame, the last that is done to it."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import NamedTuple

import cv2
import numpy as np

from facefusion.core.errors import OptionError, UsageError
from facefusion.core.values import Mask, Picture, Pixels, Size
from facefusion.core.wording import shown
from facefusion.vision.dynamic_range import DynamicRange
from facefusion.vision.lettering import lettering, undrawable
from facefusion.vision.picture import BgrPicture, YuvPicture

LONGEST = 100
"""Characters of a text."""

PADDING = 0.35
"""Of the box around the text, and"""
MARGIN = 0.5
"""between it and the picture's edge, in sizes of the letters."""

GROUND = 0.6
"""How much the box covers of what lies below it. Over a white picture white letters on it have a contrast of 5.7 to 1,
over any other more; WCAG 2.2 asks for 4.5 (success criterion 1.4.3)."""

WHITE = 255
HDR_WHITE = 230
"""Level of letters. In high dynamic range that of paper, 203 cd/m2 (ITU-R BT.2408): what lies above dazzles."""

LEAST_SIZE = 8
"""Pixels; smaller letters cannot be read. Smaller pictures have letters of that size nonetheless."""


class _Stamp(NamedTuple):
    """What is laid over pictures of one size."""

    pixels: Pixels
    mask: Mask
    left: int
    top: int


@dataclass(frozen=True, slots=True)
class _Place:
    """Where along a side a box lies: at its beginning, in its middle or at its end."""

    name: str

    def across(self, room: int) -> int:
        """Columns on its left, of those that the box leaves free."""
        return 0 if "left" in self.name else room if "right" in self.name else room // 2

    def down(self, room: int) -> int:
        """Rows above it, of those that the box leaves free."""
        return 0 if self.name.startswith("top") else room


class Label:
    """Lays one text over pictures. Thread-safe.

    Args:
        text: of one line; not empty.
        position: one of :data:`~facefusion.provenance.label_settings.POSITIONS`.
        percent: size of the letters, in hundredths of the picture's shorter side.

    Raises:
        OptionError: the text is too long, or holds what cannot be drawn.
    """

    def __init__(self, text: str, position: str, percent: float) -> None:
        if len(text) > LONGEST:
            raise OptionError(
                f"--label {shown(repr(text))}: {len(text)} characters are too many", f"Give at most {LONGEST}."
            )
        if missing := undrawable(text):
            listed = ", ".join(
                f"{one} (U+{ord(one):04X})" if one.isprintable() else f"U+{ord(one):04X}" for one in missing
            )
            raise OptionError(
                f"--label {shown(repr(text))}: this cannot be drawn: {listed}",
                "Use Latin, Greek, Cyrillic, Chinese, Japanese or Korean letters, with accents as one character.",
            )
        self._text = text
        self._place = _Place(position)
        self._percent = percent
        self._lock = threading.Lock()
        self._stamps: dict[tuple[Size, int], _Stamp] = {}

    def check(self, size: Size) -> None:
        """Make sure that pictures of a size have room for it.

        Raises:
            UsageError: they have none for letters that can be read.
        """
        self._stamp_for(size, WHITE)

    def over(self, picture: Picture) -> Picture:
        """A picture with the label on it; what lies elsewhere stays as it is. The label itself is never transparent.

        Raises:
            UsageError: it has no room.
        """
        stamp = self._stamp_for(picture.size, _white_of(picture))
        picture.paste(stamp.pixels, stamp.mask, np.array([[1.0, 0.0, -stamp.left], [0.0, 1.0, -stamp.top]]))
        return _made_opaque(picture, stamp)

    def _stamp_for(self, size: Size, white: int) -> _Stamp:
        key = (size, white)
        with self._lock:
            if key not in self._stamps:
                self._stamps[key] = self._made(size, white)
            return self._stamps[key]

    def _made(self, size: Size, white: int) -> _Stamp:
        letters = self._letters(size)
        ink = lettering(self._text, letters)
        while not _fits(ink, letters, size):
            letters -= 1
            if letters < LEAST_SIZE:
                raise UsageError(
                    f"--label {shown(repr(self._text))} has no room in a picture of {size.width}x{size.height} in "
                    f"letters that can be read",
                    "Shorten it, or leave it out.",
                )
            ink = lettering(self._text, letters)
        padding, margin = _padding(letters), _margin(letters)
        ink = np.pad(ink, padding)
        mask = GROUND + (1 - GROUND) * ink
        # What comes out is the picture's own share, black, and white where there is ink.
        shade = (white * ink / mask).astype(np.float32)
        height, width = ink.shape
        left = margin + self._place.across(size.width - width - 2 * margin)
        top = margin + self._place.down(size.height - height - 2 * margin)
        return _Stamp(cv2.merge([shade] * 3).astype(np.float32), mask.astype(np.float32), left, top)

    def _letters(self, size: Size) -> int:
        """The size that is asked for, or about that which the width leaves."""
        wanted = max(LEAST_SIZE, round(min(size) * self._percent / 100))
        widths = lettering(self._text, LEAST_SIZE).shape[1] / LEAST_SIZE + 2 * (MARGIN + PADDING)
        return int(max(LEAST_SIZE, min(wanted, round(1.05 * size.width / widths))))


def _fits(ink: Mask, letters: int, size: Size) -> bool:
    height, width = ink.shape
    edge = 2 * (_margin(letters) + _padding(letters))
    return bool(width + edge <= size.width and height + edge <= size.height)


def _white_of(picture: Picture) -> int:
    is_hdr = isinstance(picture, YuvPicture) and picture.layout.coding.dynamic_range is not DynamicRange.STANDARD
    return HDR_WHITE if is_hdr else WHITE


def _padding(letters: int) -> int:
    return max(1, round(PADDING * letters))


def _margin(letters: int) -> int:
    return round(MARGIN * letters)


def _made_opaque(picture: Picture, stamp: _Stamp) -> Picture:
    if not isinstance(picture, BgrPicture | YuvPicture) or picture.alpha is None:
        return picture
    height, width = stamp.mask.shape
    alpha = picture.alpha.copy()
    alpha[stamp.top : stamp.top + height, stamp.left : stamp.left + width] = (1 << picture.bit_depth) - 1
    if isinstance(picture, YuvPicture):
        return YuvPicture(picture.planes, picture.layout, alpha)
    return BgrPicture(picture.pixels, alpha)
