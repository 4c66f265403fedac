"""What a face detector is, and what it finds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt

from facefusion.catalogue.card import ModelCard
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


class ScoreScale(NamedTuple):
    """What the scores of a detector mean; another detector has another scale. The defaults were measured for YuNet."""

    clear: float = 0.92
    """A find below this may be a face seen at the wrong quarter turn: over 40 photos those scored up to 0.91."""
    turned: float = 0.8
    """What a find at a quarter turn that was not asked for must score: true ones had 0.89 and up, hands and folds
    0.72."""
    sample: float = 0.8
    """What a find must score for its view to teach anything about identity."""
    doubtful: float = 0.75
    """Below this a source's face may be none: a dog's had 0.71, a person's behind a surgical mask 0.60, clear ones 0.85
    and up."""

    @classmethod
    def of(cls, card: ModelCard) -> Self:
        """The scale that an entry describes by ``clear_score``, ``turned_score`` and so on, where it says something."""
        return cls(*(card.number(f"{name}_score", usual) for name, usual in cls._field_defaults.items()))


YUNET_SCORES = ScoreScale()


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
