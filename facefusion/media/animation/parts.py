"""From whole frames to the parts that differ from the frame before, each with its delay in a format's ticks."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import numpy as np
import numpy.typing as npt

from facefusion.core.values import Frame, Region, Size
from facefusion.media.animation.facts import INSTEAD
from facefusion.media.image.details import ImageDetails
from facefusion.vision.colour import Plane

LARGEST = 65535
"""Of the numerator and the denominator of a delay in PNG."""
HALF = 128
"""Alpha from which a pixel counts as shown."""


@dataclass(frozen=True, slots=True)
class Timing:
    """How a format counts time."""

    tick: Fraction | None
    """Seconds; none where they are fractions."""
    longest: Fraction
    """Seconds that a frame can be shown."""
    least: int = 0
    """Ticks below which players do not keep a delay."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """What holds for a whole animation."""

    size: Size
    alpha: bool
    """Frames are RGBA; else RGB."""
    loops: int
    """How often it plays; 0 for ever."""
    quality: int
    """0..100, where the format loses; 100 loses nothing."""
    details: ImageDetails


@dataclass(frozen=True, slots=True)
class Shot:
    """A whole frame and how long it is shown."""

    codes: Plane
    """Height x width x 3 or 4, RGB or RGBA, 8 bits."""
    delay: Fraction


@dataclass(frozen=True, slots=True)
class Part:
    """What has to be drawn of a frame."""

    codes: Plane
    """Of the region."""
    region: Region
    unchanged: npt.NDArray[np.bool_] | None
    """Pixels of the region that show the right thing already; none where all are new."""
    delay: Fraction
    clear: bool
    """After it the whole picture has to be emptied, since pixels shown here are hidden in the next frame."""


class Pacer:
    """Gives each frame its delay, so that rounding to ticks never adds up, and leaves out frames too short to show."""

    def __init__(self, timing: Timing, delays: Sequence[Fraction] | None) -> None:
        """Prepare.

        Args:
            timing: of the format.
            delays: by the frames' index, kept whatever they are; else the frames' own durations are used.
        """
        self.dropped = 0
        self.rounded = False
        self._timing = timing
        self._delays = delays
        self._last = INSTEAD
        self._end = Fraction(0)
        self._written = Fraction(0)

    def delay(self, frame: Frame) -> Fraction | None:
        """Seconds for which to show the frame; none where it is left out."""
        given = self._delays[frame.index] if self._delays is not None else frame.duration or self._last
        self._last = given
        tick = self._timing.tick
        if tick is None:
            return _storable(min(given, self._timing.longest))
        self._end += given
        ticks = round((self._end - self._written) / tick)
        if self._delays is None and ticks < self._timing.least:
            self.dropped += 1
            return None
        self._written += ticks * tick
        self.rounded |= ticks * tick != given
        return min(ticks * tick, self._timing.longest)


def _storable(delay: Fraction) -> Fraction:
    """The nearest fraction of two 16-bit numbers; up to 65535."""
    return delay.limit_denominator(int(LARGEST / max(delay, Fraction(1))))


def parts(shots: Iterable[Shot], *, clearing: bool, even: bool) -> Iterator[Part]:
    """Cut each frame down to what changed.

    Args:
        shots: the frames.
        clearing: a pixel once drawn can be hidden again only by emptying the picture (GIF).
        even: regions begin at even numbers (WebP).
    """
    before: Plane | None = None
    pending: Shot | None = None
    for shot in itertools.chain(shots, (None,)):
        if pending is not None:
            clear = clearing and shot is not None and _hides(pending.codes, shot.codes)
            yield _part(before, pending, clear=clear, even=even)
            before = None if clear else pending.codes
        pending = shot


def _hides(now: Plane, after: Plane) -> bool:
    return now.shape[2] == 4 and bool(np.any((now[..., 3] >= HALF) & (after[..., 3] < HALF)))


def _part(before: Plane | None, shot: Shot, *, clear: bool, even: bool) -> Part:
    height, width = shot.codes.shape[:2]
    region = Region(0, 0, width, height)
    if before is None:
        return Part(shot.codes, region, None, shot.delay, clear)
    same = np.all(before == shot.codes, axis=2)
    if not clear:
        region = _bounds(~same, even=even)
    rows, columns = slice(region.top, region.bottom), slice(region.left, region.right)
    codes = cast("Plane", np.ascontiguousarray(shot.codes[rows, columns]))
    return Part(codes, region, same[rows, columns], shot.delay, clear)


def _bounds(changed: npt.NDArray[np.bool_], *, even: bool) -> Region:
    """Around everything that changed; one pixel where nothing did."""
    rows, columns = np.flatnonzero(changed.any(axis=1)), np.flatnonzero(changed.any(axis=0))
    if not len(rows):
        return Region(0, 0, 1, 1)
    left, top = int(columns[0]), int(rows[0])
    if even:
        left, top = left & ~1, top & ~1
    return Region(left, top, int(columns[-1]) + 1, int(rows[-1]) + 1)
