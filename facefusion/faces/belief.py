"""Whether what is followed is a face at all.

A detector takes the back of a head, a printed shirt or a shadow for a face now and then, with a doubtful score; and the
mesh, asked about that place, is sure in one frame and not in the next. On a real face it is sure all the time. So what
the detector doubts is given out once the mesh was sure of it for a while. In a picture on its own there is one look.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from facefusion.faces.detect.base import ScoreScale

CERTAINTY = 7.0
"""Log odds, a probability of 0.9991: what a reading counts for at most, lest one make up for many poor ones."""

SURE = 6.5
"""Mean log odds, a probability of 0.9985, from which on even the poorest find is a face. Over fifteen clips real faces
with a doubtful score had 6.6 and more, other things up to 6.2, and 1 to 5 mostly."""

SLACK = 4.5
"""Log odds by which the mean may then fall, to 0.88 for the poorest find, before it is one no more."""

AT_ONCE = 3.0
"""Log odds, a probability of 0.953, that do in a picture on its own. Over 94 photos real faces with a doubtful score
had 5.4 and more, and faces larger than their picture 3.5 and more; a blurred crowd and a mesh between two heads had up
to 0.9. But a dog's face is one to the mesh too."""

SPAN = 0.25
"""Seconds over which the mean is taken: older readings fade."""


@dataclass(slots=True)
class Belief:
    """In one track. How much the mesh must be sure depends on the detector's score: nothing is asked of a clear one."""

    held: bool = False
    """Whether it is a face."""
    sureness: float = 0.0
    """Mean log odds of the mesh's presence."""

    def begin(self, presence: float, score: float, scores: ScoreScale, *, known: bool = False) -> None:
        """Judge a place just found.

        Args:
            presence: 0..1, the mesh's.
            score: 0..1, the detector's.
            scores: what that means.
            known: whether the face was recognised, which nothing else is.
        """
        self.held, self.sureness = known, log_odds(presence)
        self._judge(score, scores)

    def hear(self, presence: float, score: float, scores: ScoreScale, step: float) -> None:
        """Judge again by the reading of another frame, ``step`` seconds later; ``score`` is the last one known."""
        self.sureness += -math.expm1(-max(step, 0.0) / SPAN) * (log_odds(presence) - self.sureness)
        self._judge(score, scores)

    def _judge(self, score: float, scores: ScoreScale) -> None:
        doubt = doubt_of(score, scores)
        self.held = doubt == 0.0 or self.sureness >= SURE * doubt - (SLACK if self.held else 0.0)


def is_face(presence: float, score: float, scores: ScoreScale) -> bool:
    """Whether what was found in a picture on its own is a face, by the mesh's presence and the detector's score."""
    doubt = doubt_of(score, scores)
    return doubt == 0.0 or log_odds(presence) >= AT_ONCE * doubt


def doubt_of(score: float, scores: ScoreScale) -> float:
    """How little a find may be a face by its score alone: 0 for a clear one, 1 for one too poor to learn from."""
    return min(max((scores.clear - score) / max(scores.clear - scores.sample, 1e-6), 0.0), 1.0)


def log_odds(presence: float) -> float:
    """Natural logarithm of p / (1 - p), within the bounds that a reading may count for."""
    if presence <= 0.0:
        return -CERTAINTY
    return max(-CERTAINTY, min(CERTAINTY, math.log(presence) - math.log1p(-presence) if presence < 1.0 else CERTAINTY))
