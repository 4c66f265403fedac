"""How a mask that a network or an outline drew gets a soft edge."""

from __future__ import annotations

from typing import cast

import cv2
import numpy as np

from facefusion.core.values import Mask

EDGE = 5.0
"""Standard deviation of the blur, in pixels of the crop."""


def soften_inward(mask: Mask) -> Mask:
    """Blur a mask and keep the upper half of its values, stretched: the edge falls inside of what was marked.

    FaceFusion's curve: ``(clip(blurred, 0.5, 1) - 0.5) * 2``.
    """
    blurred = cast("Mask", cv2.GaussianBlur(mask, (0, 0), EDGE))
    softened: Mask = (blurred.clip(0.5, 1) - np.float32(0.5)) * 2
    return softened
