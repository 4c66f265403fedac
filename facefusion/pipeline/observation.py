"""Observing the frames of a video in the order they are decoded, segment by segment."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from facefusion.core.values import Frame
from facefusion.media.damage import Damage
from facefusion.media.frame_reader import FrameReader
from facefusion.media.frames import checksum
from facefusion.media.reader import Anchor
from facefusion.pipeline.frames import FrameTask, FrameWork
from facefusion.pipeline.pace import Pace
from facefusion.pipeline.segments import SegmentPlan
from facefusion.pipeline.stages import StageClock


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What is known once the last frame of a segment was observed."""

    origin: Fraction
    """Time of the first frame that is worked on."""
    end: Fraction
    """When the segment's last frame ends."""
    anchor: Anchor | None
    """Where a run that makes the next segment begins to read; none where no frame follows."""
    content: Mapping[str, object]
    """State of the content filter."""
    damage: Damage
    """Found since the target's beginning."""
    dropped: int
    """Frames of the segment that the result does not show."""


class Observation:
    """Gives the tasks for the workers, and a checkpoint for each segment once its last frame was observed.

    Every segment has a strand of its own, which sees the last frames of the segment before too. So what is seen in a
    segment does not depend on which run made the one before.

    Args:
        reader: of the target, open; it begins at the anchor of the first segment, or at the first frame of all.
        work: observes.
        cuts: where the segments are.
        rate: frames per second of the result; where none, every frame keeps its time.
        first: number of the first segment to make.
        before: the checkpoint of the segment before that.
        until: number of the segment before which to end.
    """

    def __init__(
        self,
        reader: FrameReader,
        work: FrameWork,
        cuts: SegmentPlan,
        rate: Fraction | None,
        first: int,
        before: Checkpoint | None,
        until: int | None = None,
    ) -> None:
        self.checkpoints: dict[int, Checkpoint] = {}
        """By number of the segment; complete for a segment before the first task of the next is given."""
        self.pace: Pace | None = None if before is None else pace_of(before.origin, cuts, rate)
        self._reader = reader
        self._work = work
        self._cuts = cuts
        self._rate = rate
        self._number = first
        self._until = until
        self._damage = Damage() if before is None else before.damage
        self._unread = Damage()
        """What was found before the first frame of the first segment: known, or not its business."""
        self._read = Damage()
        """What was found up to the last frame observed."""
        self._anchor: Anchor | None = None
        self._end = Fraction(0)
        self._dropped = 0

    def tasks(self) -> Generator[FrameTask, None, None]:
        """Observe the frames, one after the other."""
        cuts, work = self._cuts, self._work
        strand, coming = work.strand(), None
        begun = False
        for frame in _timed(iter(self._reader), work.clock):
            pace = self.pace = self.pace or pace_of(frame.time, cuts, self._rate)
            if frame.index < cuts.first_of(self._number):
                if pace.places(frame):
                    work.look(frame, strand)
                self._unread = self._read = replace(self._reader.damage)
                continue
            if cuts.number_of(frame.index) > self._number:
                self._pass(pace, is_last=False)
                if self._number == self._until:
                    return
                strand, coming = coming or work.strand(), None
            begun = True
            self._read = replace(self._reader.damage)
            self._end = frame.time + frame.duration
            if frame.index == cuts.anchor_of(self._number + 1):
                self._anchor = Anchor(frame.index, frame.time, checksum(frame.picture))
            if not pace.places(frame):
                self._dropped += 1
                continue
            task = work.observe(frame, strand)
            if cuts.warms(frame.index):
                coming = coming or work.strand()
                work.look(frame, coming)
            yield task
        if begun and self.pace is not None:
            self._read = replace(self._reader.damage)
            self._pass(self.pace, is_last=True)

    def _pass(self, pace: Pace, *, is_last: bool) -> None:
        self.checkpoints[self._number] = Checkpoint(
            origin=pace.origin,
            end=self._end,
            anchor=None if is_last else self._anchor,
            content=self._work.content.state(),
            damage=self._damage.plus(self._read.since(self._unread)),
            dropped=self._dropped,
        )
        self._number += 1
        self._dropped = 0


def pace_of(origin: Fraction, cuts: SegmentPlan, rate: Fraction | None) -> Pace:
    """The pace of a result whose first frame lies at ``origin``: a part of a video begins at 0."""
    return Pace(origin, origin if cuts.start else Fraction(0), rate)


def _timed(frames: Iterator[Frame], clock: StageClock) -> Iterator[Frame]:
    while True:
        with clock.measure("decode"):
            frame = next(frames, None)
        if frame is None:
            return
        yield frame
