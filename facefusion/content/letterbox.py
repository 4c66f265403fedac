"""Bringing a picture to the square that a network takes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from facefusion.content.base import Thumbnail
from facefusion.core.values import Picture, Size, Tensor

GREATEST = np.float32(255)


def inner_thumbnail(picture: Picture, side: int) -> Thumbnail:
    """The whole picture, as large as fits a square.

    Args:
        picture: of any size; a smaller one is enlarged.
        side: of the square, in pixels.
    """
    width, height = picture.size
    scale = side / max(width, height)
    return picture.thumbnail(Size(max(1, round(width * scale)), max(1, round(height * scale))))


def letterboxed(
    thumbnail: Thumbnail, side: int, mean: npt.NDArray[np.float32], deviation: npt.NDArray[np.float32]
) -> Tensor:
    """A picture in the middle of a black square that it touches on two sides.

    Args:
        thumbnail: fits the square.
        side: of the square, in pixels.
        mean: red, green and blue on 0..1, taken off every value, the border's too.
        deviation: of red, green and blue; divides it.

    Returns:
        1 x 3 x side x side, red, green, blue.
    """
    height, width = thumbnail.shape[:2]
    left, top = (side - width) // 2, (side - height) // 2
    square = np.zeros((side, side, 3), np.float32)
    square[top : top + height, left : left + width] = thumbnail[..., ::-1]
    square /= GREATEST
    square -= mean
    square /= deviation
    return np.ascontiguousarray(square.transpose(2, 0, 1)[None])
