"""What a face detector is, and what it finds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from facefusion.vision.boxes import Boxes, suppress_overlaps


class Detections(NamedTuple):
    """n faces, as arrays, in pixels of the picture they were looked for in."""

    boxes: Boxes
    scores: npt.NDArray[np.float32]
    """Shape (n,), 0..1."""
    points: npt.NDArray[np.float32]
    """Shape (n, 5, 2), each row a :data:`~facefusion.core.values.Landmarks5`."""

    def take(self, indices: npt.NDArray[np.intp]) -> Detections:
        """Only the faces at ``indices``, in that order."""
        return Detections(self.boxes[indices], self.scores[indices], self.points[indices])

    def apart(self, overlap_limit: float) -> Detections:
        """Best first, without those that overlap a better one by more than the limit (intersection over union)."""
        return self.take(suppress_overlaps(self.boxes, self.scores, overlap_limit))


def joined(parts: Sequence[Detections]) -> Detections:
    """The finds of all parts, in their order; there must be one part or more."""
    return Detections(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


class FaceDetector(Protocol):
    """Finds upright faces in a small picture. Thread-safe."""

    def detect(self, image: npt.NDArray[np.uint8], minimum_score: float) -> Detections:
        """Find the faces that score ``minimum_score`` or more, overlaps removed, best first.

        Args:
            image: height x width x 3, BGR; the network sees it at this size.
            minimum_score: 0..1.
        """


class CandidateDetector(FaceDetector, Protocol):
    """A detector that can be asked for what it found before it settled which finds are one face."""

    def candidates(self, image: npt.NDArray[np.uint8], minimum_score: float) -> Detections:
        """As :meth:`detect`, in any order and with overlapping finds."""
