"""Where a video is cut into segments.

The cuts depend on the target and the settings only, so every run of a step, on any machine, makes the same ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from facefusion.core.values import Size

SEGMENT_FRAMES = 240
"""About what x264 puts between two key frames anyway, so the cuts cost next to nothing."""

SLOW_SEGMENT_FRAMES = 48
"""Where a frame takes seconds: what a killed run loses is at most one segment."""

LARGE_SEGMENT_FRAMES = 120
"""Of large frames."""

WARM_UP_FRAMES = 12
"""Frames before a segment that are looked at for what crosses frames: tracks, smoothing. They settle within about half
a second."""


@dataclass(frozen=True, slots=True)
class SegmentPlan:
    """Segments of equal length over the frames from ``start`` to before ``end``; the last one may be shorter."""

    start: int
    end: int | None
    """None where it is the target's own."""
    length: int
    warm_up: int = WARM_UP_FRAMES

    def __post_init__(self) -> None:
        if self.length <= self.warm_up:
            raise ValueError(f"a segment has to be longer than the {self.warm_up} frames that warm the next one up")

    def number_of(self, index: int) -> int:
        """Number of the segment that the frame belongs to."""
        return (index - self.start) // self.length

    def first_of(self, number: int) -> int:
        """Index of a segment's first frame."""
        return self.start + number * self.length

    def anchor_of(self, number: int) -> int:
        """Index of the frame from which on a run has to read to make a segment."""
        return max(self.first_of(number) - self.warm_up, self.start)

    def ends_group(self, index: int, together: int) -> bool:
        """Whether a frame is the last of those that are worked on together: ``together`` frames of one segment."""
        place = (index - self.start) % self.length
        return (place + 1) % together == 0 or place + 1 == self.length

    def warms(self, index: int) -> bool:
        """Whether the frame is looked at for the next segment too."""
        return index >= self.anchor_of(self.number_of(index) + 1)


def segment_frames(processors: Sequence[str], size: Size) -> int:
    """How many frames a segment has.

    Args:
        processors: names.
        size: of the target.
    """
    if any(name.endswith("_enhancer") for name in processors):
        return SLOW_SEGMENT_FRAMES
    return LARGE_SEGMENT_FRAMES if size.is_large else SEGMENT_FRAMES


def stretches(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Numbers in ascending order as stretches without a gap: the first one of each and the one before which it ends."""
    for _, group in groupby(enumerate(numbers), key=lambda place: place[1] - place[0]):
        together = [number for _, number in group]
        yield together[0], together[-1] + 1
