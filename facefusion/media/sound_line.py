"""Decoded sound laid out on a line of samples without holes, at the times that the source gives."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from facefusion.media.span import Span

Samples: TypeAlias = npt.NDArray[np.float64]
"""Shape (channels, n), -1..1: holds every sample of 16, 24 and 32 bits exactly."""

SLIP = Fraction(1, 25)
"""Seconds by which times may be off before sound is moved: below what is noticed between lips and voice, above the
rounding of any container."""


class SoundLine:
    """Takes what a decoder gives, hands on an unbroken line: gaps become silence, what comes twice is cut."""

    def __init__(self, rate: int, channels: int, span: Span, *, from_start: bool = False) -> None:
        """Prepare the line.

        Args:
            rate: samples per second.
            channels: of the sound.
            span: what is kept, exact to the sample.
            from_start: whether a late beginning becomes silence too, for a container without times.
        """
        self._rate = rate
        self._channels = channels
        self._span = span
        self._from_start = from_start
        self._next: int | None = None
        self._first = 0 if span.trimmed or from_start else None
        self._last = None if span.end is None else self._position(span.end)
        self.filled = 0
        """Samples of silence that stand for a gap."""

    def place(self, samples: Samples, time: Fraction) -> Iterator[tuple[int, Samples]]:
        """Lay out what a decoder gave.

        Args:
            samples: in time order.
            time: of the first of them, in seconds of the source.

        Yields:
            Position (in samples; 0 is the span's start) and samples, each following on the one before.
        """
        at = self._position(time)
        if self._next is None:
            self._next = at
            if self._from_start and at > 0:
                yield from self._silence(0, at)
        elif abs(at - self._next) <= SLIP * self._rate:
            at = self._next
        if at > self._next:
            self.filled += at - self._next
            for begin, silence in self._silence(self._next, at):
                yield from self._kept(begin, silence)
        elif at < self._next:
            samples = samples[:, self._next - at :]
            at = self._next
        yield from self._kept(at, samples)
        self._next = at + samples.shape[1]

    def fill_up(self) -> Iterator[tuple[int, Samples]]:
        """Silence up to the span's end."""
        begin = self._next or 0
        if self._last is not None and begin < self._last:
            yield from self._silence(begin, self._last)
            self._next = self._last

    def _silence(self, begin: int, over: int) -> Iterator[tuple[int, Samples]]:
        """In pieces of at most a second, since a gap may last for hours."""
        for at in range(begin, over, self._rate):
            yield at, np.zeros((self._channels, min(self._rate, over - at)))

    def _position(self, time: Fraction) -> int:
        return round((time - self._span.start) * self._rate)

    def _kept(self, at: int, samples: Samples) -> Iterator[tuple[int, Samples]]:
        begin = at if self._first is None else max(at, self._first)
        over = at + samples.shape[1] if self._last is None else min(at + samples.shape[1], self._last)
        if begin < over:
            yield begin, samples[:, begin - at : over - at]
