"""Giving one picture the colours of another that shows nearly the same."""

from __future__ import annotations

from typing import cast

import cv2
import numpy as np
import numpy.typing as npt

from facefusion.core.values import Pixels, Size

COARSEST = 16
"""Side of the picture in which colours are compared first, in pixels."""
STAGES = 3
HUES, SATURATIONS = 50, 60
"""Bins of a histogram."""
HUE_RANGE, SATURATION_RANGE = (0.0, 180.0), (0.0, 256.0)
"""Of OpenCV's HSV in 8 bits."""

Levels = npt.NDArray[np.float32]


def match_colours(picture: Pixels, reference: Pixels) -> Levels:
    """Bring the picture's colours to the reference's, as far as the two show the same colours at all.

    How far is half of one and the correlation of the two histograms of hue and saturation: all the way where they are
    alike, half where they have nothing to do with each other. As FaceFusion does it for trained faces.

    Args:
        picture: height x width x 3, BGR, square.
        reference: of the same size.

    Returns:
        ``float32``, 0..255.
    """
    share = np.float32((_likeness(picture, reference) + 1) / 2)
    own = picture.astype(np.float32)
    return own + (_matched(own, reference.astype(np.float32)) - own) * share


def _matched(picture: Levels, reference: Levels) -> Levels:
    """The picture with the reference's colours, which were made coarse and then seen at finer and finer sizes."""
    side = picture.shape[0]
    for stage in range(STAGES):
        seen_at = 2 * round((COARSEST + stage * (side - COARSEST) / STAGES) / 2)
        reference = _shifted(picture, reference, Size(seen_at, seen_at))
    return reference


def _shifted(picture: Levels, reference: Levels, size: Size) -> Levels:
    """The picture with its difference from the reference taken over as far as it shows at ``size``."""
    height, width = picture.shape[:2]
    coarse = [cv2.resize(one, size, interpolation=cv2.INTER_AREA) for one in (reference, picture)]
    difference = cv2.resize(coarse[0] - coarse[1], (width, height), interpolation=cv2.INTER_CUBIC)
    return cast("Levels", np.clip(picture + difference, 0, 255))


def _likeness(first: Pixels, second: Pixels) -> float:
    """Correlation of the histograms of hue and saturation, -1..1."""
    return float(cv2.compareHist(_histogram(first), _histogram(second), cv2.HISTCMP_CORREL))


def _histogram(pixels: Pixels) -> Levels:
    whole = np.rint(pixels).astype(np.uint8)
    hues = cv2.cvtColor(whole, cv2.COLOR_BGR2HSV)
    found = cv2.calcHist([hues], [0, 1], None, [HUES, SATURATIONS], [*HUE_RANGE, *SATURATION_RANGE])
    return cast("Levels", found)
