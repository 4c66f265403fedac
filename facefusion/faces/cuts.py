"""Telling where a video cuts to another scene."""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

from facefusion.core.values import Picture, Size

SIDE = 24
"""Pixels: of a picture so small that neither noise nor a gesture changes it much."""

FAINT = 2.0
"""Levels: a picture that differs from one colour by less, as black with noise does, looks like any other such."""

CLEAR_CHANGE = 0.5
"""Change from which two successive pictures show two scenes, whatever was before. 1 is no likeness at all."""

SUDDEN_CHANGE = 0.12
"""Change that is a cut where the scene was calm. Dancing and hand-held clips had up to 0.30, calm ones up to 0.02; a
cut between scenes that resemble each other had 0.22."""

SUDDENNESS = 6.0
"""How many times the usual change makes a change sudden."""

Look = npt.NDArray[np.float32]
"""A whole picture, tiny, each channel of zero mean, all together of unit length or, where it is faint, less."""


class CutFinder:
    """Compares each picture with the one before. In order; one thread."""

    def __init__(self) -> None:
        self._before: Look | None = None
        self._usual: float | None = None

    def falls_before(self, picture: Picture) -> bool:
        """Whether another scene begins with this picture; never with the first one.

        Brightness and contrast do not count, so changing light and flashes are no cuts.
        """
        before, now = self._before, look_of(picture)
        self._before = now
        if before is None:
            return False
        # Of unit vectors: 1 - their correlation.
        change = float(np.square(before - now).sum()) / 2
        if change > CLEAR_CHANGE or (self._usual is not None and change > max(SUDDEN_CHANGE, SUDDENNESS * self._usual)):
            self._usual = None
            return True
        self._usual = change if self._usual is None else self._usual + 0.2 * (change - self._usual)
        return False


def look_of(picture: Picture) -> Look:
    """What two pictures of one scene have in common, whatever the light."""
    look: Look = picture.thumbnail(Size(SIDE, SIDE)).astype(np.float32)
    look -= np.array(cv2.mean(look)[:3], np.float32)
    look /= np.float32(max(float(np.linalg.norm(look)), FAINT * look.size**0.5))
    return look
