"""A video whose segments are made apart, on any machines and in any order, and joined by one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from facefusion.core.errors import MediaError
from facefusion.core.stop import StopToken
from facefusion.media.probe import MediaInfo
from facefusion.memory.meter import MemoryMeter
from facefusion.observability.events import EventSink, StageFinished, StageStarted
from facefusion.pipeline.checkpoint import Checkpoint
from facefusion.pipeline.frames import FrameWork
from facefusion.pipeline.joining import join_segments, outcome_of, tell_damage
from facefusion.pipeline.making import SegmentMaker
from facefusion.pipeline.manifest import Manifest
from facefusion.pipeline.outcome import Processed
from facefusion.pipeline.outline import Outline
from facefusion.pipeline.video_plan import VideoPlan


@dataclass(frozen=True, slots=True)
class DividedVideo:
    """A video, what is made of it, and where its segments begin."""

    info: MediaInfo
    plan: VideoPlan
    outline: Outline

    def render(
        self, number: int, path: Path, work: FrameWork, meter: MemoryMeter, events: EventSink, stop: StopToken
    ) -> Manifest:
        """Make one segment.

        Args:
            number: of the segment.
            path: of its file; nothing lies there where none of the segment's frames is shown, or where this fails.
            work: on the frames.
            meter: watches the memory.
            events: told of progress.
            stop: asked between frames.

        Raises:
            ContentRefusedError: the content filter refused the target.
            MediaError: the target cannot be decoded, or holds other frames than when the outline was made.
            OutputError: the segment cannot be written.
            ResourceError: memory ran over the limit, or the disk is full.
            Stopped: a stop was requested.
        """
        outline = self.outline
        hand = _Hand(path)
        events.emit(StageStarted("process", outline.frames[number]))
        complete = False
        try:
            maker = SegmentMaker(self.info, self.plan, work, events)
            maker.make(number, number + 1, outline.before(number), hand, meter, stop)
            noted = outline.checkpoints[number]
            made = hand.made.get(number)
            if made is None or made.outcome.frames_read != outline.frames[number] or not _agree(made.checkpoint, noted):
                raise MediaError(
                    f"segment {number} of {self.info.path} decodes otherwise than when it was planned", "Plan it again."
                )
            complete = True
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        finally:
            events.emit(StageFinished(complete))
        return replace(made, checkpoint=noted)

    def join(self, manifests: Sequence[Manifest], work: FrameWork, events: EventSink, stop: StopToken) -> Processed:
        """Make the result of all segments, verify it and move it under its name.

        Args:
            manifests: of all segments, in order, with the paths where their files lie now.
            work: its content filter has the last word.
            events: told of damage.
            stop: asked now and then.

        Raises:
            ContentRefusedError: the content filter refused the target.
            OutputError: the result cannot be written or is not whole, or no frame could be worked on.
            ResourceError: the disk is full.
            Stopped: a stop was requested.
        """
        outcome, damage = outcome_of(manifests), self.outline.checkpoints[-1].damage
        outcome.check(self.plan.output)
        notices = join_segments(self.info, self.plan, manifests, work, stop)
        tell_damage(self.info, damage, events)
        return Processed(outcome, damage, notices=notices)


class _Hand:
    """Holds the segment that was made."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.made: dict[int, Manifest] = {}

    def path_of(self, number: int) -> Path:
        return self._path

    def put(self, number: int, made: Manifest) -> None:
        self.made[number] = made


def _agree(one: Checkpoint, other: Checkpoint) -> bool:
    """Whether both were made of the same frames."""
    return (one.end, one.anchor, one.dropped) == (other.end, other.anchor, other.dropped)
