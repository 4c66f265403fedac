"""Several detectors as one: what any of them finds counts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from facefusion.catalogue.card import ModelCard
from facefusion.faces.detect.base import CandidateDetector, Detections, ScoreScale, joined

OVERLAP_LIMIT = 0.1
"""Boxes that overlap by more than this are one face. Those of different detectors differ more than those of one."""


class ManyDetectors:
    """Asks each detector in turn.

    Args:
        card: the entry that lists them as companions.
        detectors: one or more.
    """

    def __init__(self, card: ModelCard, detectors: Sequence[CandidateDetector]) -> None:
        self.scores = ScoreScale.of(card)
        self._detectors = tuple(detectors)
        self._overlap_limit = card.number("overlap_limit", OVERLAP_LIMIT)

    def detect(self, image: npt.NDArray[np.uint8], minimum_score: float) -> Detections:
        """See :class:`~facefusion.faces.detect.base.FaceDetector`."""
        return self.candidates(image, minimum_score).apart(self._overlap_limit)

    def candidates(self, image: npt.NDArray[np.uint8], minimum_score: float) -> Detections:
        """See :class:`~facefusion.faces.detect.base.CandidateDetector`."""
        return joined([detector.candidates(image, minimum_score) for detector in self._detectors])
