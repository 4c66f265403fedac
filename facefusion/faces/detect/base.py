"""What a face detector is, and what it finds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt

from facefusion.catalogue.card import ModelCard
from facefusion.core.errors import InferenceError
from facefusion.core.graph import NO_ANSWER
from facefusion.vision.boxes import Boxes, suppress_overlaps
from facefusion.vision.geometry import lie_apart


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


def checked(model: str, found: Detections) -> Detections:
    """The same finds, if they can be faces at all.

    Args:
        model: its name, for the message.
        found: what it found, in any pixels.

    Raises:
        InferenceError: a place is no number, as where an exponent overflows, or the corners of a box or the five points
            of a face lie on one spot.
    """
    for box, points in zip(found.boxes, found.points, strict=True):
        if not all(map(lie_apart, (box[0::2, None], box[1::2, None], points))):
            raise InferenceError(f"{model} found a face that has no place or no size", NO_ANSWER)
    return found


def joined(parts: Sequence[Detections]) -> Detections:
    """The finds of all parts, in their order; there must be one part or more."""
    return Detections(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


class ScoreScale(NamedTuple):
    """What the scores of a detector mean, each 0..1. Another detector has another scale, so its entry says it."""

    clear: float
    """A find below this may be a face seen at the wrong quarter turn."""
    turned: float
    """What a find at a quarter turn that was not asked for must score."""
    sample: float
    """What a find must score for its view to teach anything about identity."""
    doubtful: float
    """Below this a source's face may be none."""

    @classmethod
    def of(cls, card: ModelCard) -> Self:
        """The scale that an entry describes by its numbers ``clear_score``, ``turned_score`` and so on.

        Raises:
            ModelError: it lacks one of them.
        """
        return cls(*(card.number(f"{name}_score") for name in cls._fields))


class FaceDetector(Protocol):
    """Finds upright faces in a small picture. Thread-safe."""

    scores: ScoreScale

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
