"""The mask that keeps away from the border of a crop."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, cast

import cv2
import numpy as np

from facefusion.core.values import Mask, Size


class Padding(NamedTuple):
    """How far the mask stays inside the crop on each side, in percent of its height or width, 0..100."""

    top: int = 0
    right: int = 0
    bottom: int = 0
    left: int = 0


@lru_cache(maxsize=16)
def box_mask(size: Size, blur: float, padding: Padding) -> Mask:
    """1 within a box, with a soft edge, 0 at the border of the crop. Read-only.

    Numbers as in FaceFusion: the edge takes a quarter of ``blur`` in widths of the crop, or the padding where that is
    more, and is then blurred by half of that quarter (standard deviation).

    Args:
        size: of the crop.
        blur: 0 (a hard edge, one pixel in) .. 1.
        padding: see there.
    """
    softness = _softness(size, blur)
    return _soft_box(size, softness, padding, least=max(softness // 2, 1))


@lru_cache(maxsize=16)
def padding_mask(size: Size, blur: float, padding: Padding) -> Mask:
    """:func:`box_mask` without the edge of its own: a side without padding is left open. Read-only."""
    return _soft_box(size, _softness(size, blur), padding, least=0)


def _softness(size: Size, blur: float) -> int:
    return int(size.width * 0.5 * blur)


def _soft_box(size: Size, softness: int, padding: Padding, least: int) -> Mask:
    """Ones but for the padding, or ``least`` rows and columns where that is more, on each side; blurred."""
    width, height = size
    top, bottom = (max(least, int(height * share / 100)) for share in (padding.top, padding.bottom))
    left, right = (max(least, int(width * share / 100)) for share in (padding.left, padding.right))
    mask = np.zeros((height, width), np.float32)
    mask[top : max(height - bottom, 0), left : max(width - right, 0)] = 1
    if softness > 0:
        mask = cast("Mask", cv2.GaussianBlur(mask, (0, 0), softness * 0.25)).clip(0, 1)
    mask.flags.writeable = False
    return mask
