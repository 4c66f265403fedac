"""When the frames of the target are shown in the result."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from facefusion.core.values import Frame

HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class Pace:
    """From times in the target to times in the result. What becomes of a frame depends on that frame alone."""

    origin: Fraction
    """Time of the first frame in the target, in seconds."""
    start: Fraction = Fraction(0)
    """Time in the target that is 0 in the result."""
    rate: Fraction | None = None
    """Frames per second of the result; where none, every frame keeps its time."""

    def places(self, frame: Frame) -> tuple[tuple[Fraction, Fraction], ...]:
        """Time and duration of each showing of a frame in the result: none where it is dropped, several if repeated.

        A result of constant rate shows, at each of its ticks, the frame that begins nearest to the tick or before it.
        """
        if self.rate is None:
            return ((frame.time - self.start, frame.duration),)
        step = 1 / self.rate
        first, last = self._tick(frame.time), self._tick(frame.time + frame.duration)
        return tuple((self.origin - self.start + tick * step, step) for tick in range(first, last))

    def _tick(self, time: Fraction) -> int:
        return math.floor((time - self.origin) * (self.rate or 1) + HALF)
