"""A picture over a plain BGR array, with the same conventions as the real ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np

from facefusion.core.values import Affine, Face, Mask, Pixels, Size
from facefusion.faces.mask.base import FaceCrop

NOBODY = Face(np.zeros(4, np.float32), 1.0, np.zeros((5, 2), np.float32))
WHERE_IT_IS = np.eye(2, 3)
"""The frame is the crop."""


class ArrayPicture:
    """Only reading; nothing here pastes."""

    def __init__(self, pixels):
        self.pixels = pixels
        self.warps = 0
        self.thumbnails: list[Size] = []

    @property
    def size(self) -> Size:
        return Size(self.pixels.shape[1], self.pixels.shape[0])

    @property
    def bit_depth(self) -> int:
        return 8

    def warp(self, frame_to_crop: Affine, size: Size, *, as_float: bool = False) -> Any:
        self.warps += 1
        shrink = 1 / np.sqrt(abs(np.linalg.det(frame_to_crop[:, :2])))
        factor = int(np.ceil(shrink)) if shrink > 1.5 else 1
        larger = frame_to_crop * factor
        larger[:, 2] += (factor - 1) / 2
        crop = cv2.warpAffine(
            self.pixels, larger, (size.width * factor, size.height * factor), borderMode=cv2.BORDER_REPLICATE
        )
        return cv2.resize(crop, size, interpolation=cv2.INTER_AREA) if factor > 1 else crop

    def thumbnail(self, size: Size):
        self.thumbnails.append(size)
        shrinks = size.width < self.pixels.shape[1]
        return cv2.resize(self.pixels, size, interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR)

    def to_bgr(self, *, as_float: bool = False) -> Any:
        return self.pixels.copy()

    def paste(self, crop: Pixels, mask: Mask, frame_to_crop: Affine) -> None:
        raise AssertionError("finding faces must not change the picture")

    def replaced_by(self, pixels: Pixels):
        raise AssertionError("finding faces must not change the picture")

    def rollback(self) -> None:
        raise AssertionError("finding faces must not change the picture")


def blank(width: int = 320, height: int = 240) -> ArrayPicture:
    return ArrayPicture(np.zeros((height, width, 3), np.uint8))


def drawn(points: Sequence[tuple[float, float]], width: int = 320, height: int = 240) -> ArrayPicture:
    """A black picture with a white dot at each point, for tests that follow pixels through a map."""
    pixels = np.zeros((height, width, 3), np.uint8)
    for x, y in points:
        cv2.circle(pixels, (round(x), round(y)), 2, (255, 255, 255), -1)
    return ArrayPicture(pixels)


def cut(pixels: Any, face: Face = NOBODY, frame_to_crop: Affine = WHERE_IT_IS) -> FaceCrop:
    """A crop of a picture of which nobody has to see more."""
    return FaceCrop(pixels, face, frame_to_crop, ArrayPicture(pixels))
