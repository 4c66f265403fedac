"""Bringing a picture to the size that a detector's graph takes, and finds back to the picture."""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np
import numpy.typing as npt

from facefusion.core.graph import Shape
from facefusion.core.values import Tensor
from facefusion.faces.detect.base import Detections
from facefusion.memory.buffers import ThreadBuffers


class Letter(NamedTuple):
    """A picture as a graph takes it."""

    tensor: Tensor
    """1 x 3 x height x width, BGR; a scratch buffer of the thread."""
    ratio: npt.NDArray[np.float32]
    """Pixels of the picture per pixel of the tensor, across and down."""

    def restore(self, found: Detections) -> Detections:
        """Finds in pixels of the tensor as finds in the picture, corners of boxes put in order."""
        points, corners = found.points, found.boxes.reshape(-1, 2, 2)
        if (self.ratio != 1).any():
            points, corners = ((places + 0.5) * self.ratio - 0.5 for places in (points, corners))
        boxes = np.concatenate((corners.min(axis=1), corners.max(axis=1)), axis=1)
        return Detections(boxes, found.scores, points)


class Letterbox:
    """Lays pictures at the top left of a black canvas. Thread-safe.

    Args:
        shape: of the graph's input, 1 x 3 x height x width. A side that the graph leaves open is that of the picture,
            rounded up; a picture that is larger than a fixed side is shrunk until it fits.
        step: open sides are multiples of this.
        mean: taken from every value, the canvas's too, before
        deviation: divides it.
    """

    def __init__(self, shape: Shape, step: int, mean: float = 0.0, deviation: float = 1.0) -> None:
        self._height, self._width = shape[2:]
        self._step = step
        self._mean, self._deviation = np.float32(mean), np.float32(deviation)
        self._buffers = ThreadBuffers()

    def fit(self, image: npt.NDArray[np.uint8]) -> Letter:
        """A picture, height x width x 3, BGR, as the graph takes it."""
        small = self._shrunk(image)
        height, width = small.shape[:2]
        rows, columns = self._height or self._rounded_up(height), self._width or self._rounded_up(width)
        tensor = self._buffers.take((1, 3, rows, columns), np.float32)
        tensor[0, :, height:] = 0
        tensor[0, :, :height, width:] = 0
        tensor[0, :, :height, :width] = small.transpose(2, 0, 1)
        if self._mean:
            tensor -= self._mean
        if self._deviation != 1:
            tensor /= self._deviation
        return Letter(tensor, np.array((image.shape[1] / width, image.shape[0] / height), np.float32))

    def _rounded_up(self, side: int) -> int:
        return -(-side // self._step) * self._step

    def _shrunk(self, image: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        height, width = image.shape[:2]
        scale = min((self._height or height) / height, (self._width or width) / width)
        if scale >= 1:
            return image
        size = max(1, int(width * scale)), max(1, int(height * scale))
        return cv2.resize(np.ascontiguousarray(image), size, interpolation=cv2.INTER_AREA).astype(np.uint8, copy=False)
