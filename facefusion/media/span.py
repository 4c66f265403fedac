"""The part of a source that goes into the result."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Span:
    """In seconds of the source; its start becomes 0 in the result."""

    start: Fraction = Fraction(0)
    end: Fraction | None = None
    """None: all that follows."""
    trimmed: bool = False
    """Whether what comes before the start is cut off; if not, the source's own beginning stays as it is."""

    def clip(self, begin: Fraction, over: Fraction) -> tuple[Fraction, Fraction] | None:
        """What is left of a stretch from ``begin`` to ``over``, in seconds of the result; none if nothing is."""
        first = max(begin, self.start) if self.trimmed else begin
        last = over if self.end is None else min(over, self.end)
        return (first - self.start, last - self.start) if first < last else None
