"""Where the segments of a video begin, found by one pass over its frames, so that each can be made by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Self, cast

from facefusion.core.stop import StopToken
from facefusion.media.frame_reader import frame_reader
from facefusion.media.probe import MediaInfo
from facefusion.observability.events import EventSink, StageFinished, StageProgress, StageStarted
from facefusion.pipeline.checkpoint import Checkpoint
from facefusion.pipeline.frames import FrameWork
from facefusion.pipeline.observation import Observation
from facefusion.pipeline.sighting import NoFaces
from facefusion.pipeline.video_plan import VideoPlan


@dataclass(frozen=True, slots=True)
class Outline:
    """The segments of a video: what a run that makes all of them in turn would know behind each."""

    checkpoints: tuple[Checkpoint, ...]
    """Of each segment, in order."""
    frames: tuple[int, ...]
    """Of the target in each segment, those that the result does not show among them."""

    def before(self, number: int) -> Checkpoint | None:
        """What is known before a segment; none for the first one."""
        return self.checkpoints[number - 1] if number else None

    def to_json(self) -> Mapping[str, object]:
        """Everything, fit for JSON."""
        return {"checkpoints": [one.to_json() for one in self.checkpoints], "frames": list(self.frames)}

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> Self:
        """What :meth:`to_json` gave.

        Raises:
            KeyError, TypeError, ValueError: it is something else.
        """
        checkpoints = cast("Sequence[Mapping[str, object]]", data["checkpoints"])
        frames = cast("Sequence[int]", data["frames"])
        return cls(tuple(map(Checkpoint.from_json, checkpoints)), tuple(map(int, frames)))


def outline_video(info: MediaInfo, plan: VideoPlan, work: FrameWork, events: EventSink, stop: StopToken) -> Outline:
    """Decode a video once and note where its segments begin; show it to the content filter on the way.

    Frames are followed just as in a run that makes them, only that nobody looks for faces. So the outline holds what
    such a run would have noted, also of a damaged file, and the filter decides before anything is made.

    Args:
        info: the target.
        plan: what is made of it.
        work: on the frames; its content filter is used.
        events: told of progress.
        stop: asked between frames.

    Raises:
        ContentRefusedError: the content filter refused the target.
        MediaError: it cannot be decoded, or holds no frame of the part that is asked for.
        Stopped: a stop was requested.
    """
    cuts = plan.segments
    watching = FrameWork((), NoFaces(), work.content, events, work.clock, halt_on_error=True)
    shown: Counter[int] = Counter()
    events.emit(StageStarted("plan", plan.trim.count(info)))
    complete = False
    try:
        with frame_reader(
            info,
            start=plan.trim.start,
            end=plan.trim.end,
            threads=plan.decoder_threads,
            check=stop.check,
            card=plan.decoder_card,
        ) as reader:
            observation = Observation(reader, watching, cuts, plan.together, plan.rate, 0, None)
            with closing(observation.groups()) as groups:
                for group in groups:
                    stop.check()
                    shown.update(cuts.number_of(task.frame.index) for task in group)
                    events.emit(StageProgress(len(group)))
        checkpoints = tuple(observation.checkpoints[number] for number in range(len(observation.checkpoints)))
        if not checkpoints:
            raise plan.trim.none_in(info)
        work.finish()
        complete = True
    finally:
        events.emit(StageFinished(complete))
    return Outline(checkpoints, tuple(shown[number] + one.dropped for number, one in enumerate(checkpoints)))
