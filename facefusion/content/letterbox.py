"""Bringing a picture to the square that a network takes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from facefusion.core.values import Picture, Size, Tensor

GREATEST = 255.0


def letterboxed(
    picture: Picture, side: int, mean: npt.NDArray[np.float32], deviation: npt.NDArray[np.float32]
) -> Tensor:
    """The whole picture in the middle of a black square that it touches on two sides.

    Args:
        picture: of any size; a smaller one is enlarged.
        side: of the square, in pixels.
        mean: red, green and blue on 0..1, taken off every value, the border's too.
        deviation: of red, green and blue; divides it.

    Returns:
        1 x 3 x side x side, red, green, blue.
    """
    width, height = picture.size
    scale = side / max(width, height)
    inner = Size(max(1, round(width * scale)), max(1, round(height * scale)))
    left, top = (side - inner.width) // 2, (side - inner.height) // 2
    square = np.zeros((side, side, 3), np.float32)
    square[top : top + inner.height, left : left + inner.width] = picture.thumbnail(inner)[..., ::-1]
    return np.ascontiguousarray(((square / np.float32(GREATEST) - mean) / deviation).transpose(2, 0, 1)[None])
