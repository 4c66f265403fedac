"""Following the frames of a video in the order they are decoded, segment by segment."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import replace
from fractions import Fraction

from facefusion.core.values import Frame
from facefusion.media.damage import Damage
from facefusion.media.frame_reader import FrameReader
from facefusion.media.frames import checksum
from facefusion.media.reader import Anchor
from facefusion.observability.stages import StageClock
from facefusion.pipeline.checkpoint import Checkpoint
from facefusion.pipeline.frames import FrameTask, FrameWork
from facefusion.pipeline.pace import Pace
from facefusion.pipeline.segments import SegmentPlan
from facefusion.pipeline.sighting import Strand


class Observation:
    """Gives the tasks for the workers, and a checkpoint for each segment once its last frame was followed.

    Every segment has a strand of its own, which sees the last frames of the segment before too. So what is seen in a
    segment does not depend on which run made the one before. Tasks come in groups of frames that are worked on
    together, cut at places that follow from the plan alone.

    Args:
        reader: of the target, open; it begins at the anchor of the first segment, or at the first frame of all.
        work: follows.
        cuts: where the segments are.
        together: frames of a group.
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
        together: int,
        rate: Fraction | None,
        first: int,
        before: Checkpoint | None,
        until: int | None = None,
    ) -> None:
        self.checkpoints: dict[int, Checkpoint] = {}
        """By number of the segment; complete for a segment before the first group of the next is given."""
        self.pace: Pace | None = None if before is None else pace_of(before.origin, cuts, rate)
        self._reader = reader
        self._work = work
        self._cuts = cuts
        self._together = together
        self._rate = rate
        self._number = first
        self._until = until
        self._damage = Damage() if before is None else before.damage
        self._unread = Damage()
        """What was found before the first frame of the first segment: known, or not its business."""
        self._read = Damage()
        """What was found up to the last frame followed."""
        self._anchor: Anchor | None = None
        self._end = Fraction(0)
        self._dropped = 0
        self._strand = work.strand()
        self._coming: Strand | None = None
        """Of the segment to come, once a frame was looked at for it."""

    def groups(self) -> Generator[list[FrameTask], None, None]:
        """Follow the frames, one after the other."""
        cuts = self._cuts
        group: list[FrameTask] = []
        begun = False
        for frame in _timed(iter(self._reader), self._work.clock):
            pace = self.pace = self.pace or pace_of(frame.time, cuts, self._rate)
            if cuts.number_of(frame.index) > self._number:
                self._pass(pace, is_last=False)
                if self._number == self._until:
                    return
                self._strand, self._coming = self._coming or self._work.strand(), None
            is_ahead = frame.index < cuts.first_of(self._number)
            begun = begun or not is_ahead
            task = self._ahead(frame, pace) if is_ahead else self._task(frame, pace)
            if task is not None:
                group.append(task)
            if group and cuts.ends_group(frame.index, self._together):
                yield group
                group = []
        if group:
            yield group
        if begun and self.pace is not None:
            self._read = replace(self._reader.damage)
            self._pass(self.pace, is_last=True)

    def _ahead(self, frame: Frame, pace: Pace) -> FrameTask | None:
        """A frame before the first segment."""
        self._unread = self._read = replace(self._reader.damage)
        if not pace.places(frame):
            return None
        return FrameTask(frame, None, self._work.look(frame, self._strand))

    def _task(self, frame: Frame, pace: Pace) -> FrameTask | None:
        """A frame of the segment; none where the result does not show it."""
        self._read = replace(self._reader.damage)
        self._end = frame.time + frame.duration
        if frame.index == self._cuts.anchor_of(self._number + 1):
            self._anchor = Anchor(frame.index, frame.time, checksum(frame.picture))
        if not pace.places(frame):
            self._dropped += 1
            return None
        task = FrameTask(frame, self._work.follow(frame, self._strand))
        if self._cuts.warms(frame.index):
            self._coming = self._coming or self._work.strand()
            task.ahead = self._work.look(frame, self._coming)
        return task

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
