"""Processing one video: decode, observe, process, encode, in one pass."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from facefusion.core.errors import MediaError, UsageError
from facefusion.core.stop import StopToken
from facefusion.core.values import Frame
from facefusion.media.encoder import EncoderSettings
from facefusion.media.probe import MediaInfo
from facefusion.media.reader import VideoReader
from facefusion.media.timeline import presentation_times
from facefusion.media.writer import VideoWriter
from facefusion.memory.meter import MemoryMeter
from facefusion.observability.events import EventSink, StageFinished, StageProgress, StageStarted
from facefusion.pipeline.frames import FrameTask, FrameWork
from facefusion.pipeline.outcome import Outcome
from facefusion.pipeline.stages import StageClock
from facefusion.pipeline.window import WindowPlan, run_in_order


@dataclass(frozen=True, slots=True)
class Trim:
    """The part of a video that is worked on; frame indices, ``end`` exclusive."""

    start: int | None = None
    end: int | None = None

    def times(self, info: MediaInfo) -> tuple[Fraction | None, Fraction | None]:
        """Where the part begins and ends in the source, in seconds; none where it is the source's own.

        Raises:
            UsageError: no part is meant, since it ends before it begins.
            MediaError: there is no frame in the part.
        """
        if self.end is not None and self.end <= (self.start or 0):
            raise UsageError(
                f"the part from frame {self.start or 0} to before {self.end} holds no frame",
                "Choose a --trim-frame-end above --trim-frame-start.",
            )
        if self.start is None and self.end is None:
            return None, None
        times = presentation_times(info) or _even_times(info)
        first, last = self.start or 0, len(times) if self.end is None else min(self.end, len(times))
        if first >= last:
            raise MediaError(
                f"{info.path} has {len(times)} frames, none of them from {first} to before {last}",
                "Choose another --trim-frame-start or --trim-frame-end.",
            )
        return times[first] if first else None, times[last] if last < len(times) else None

    def count(self, info: MediaInfo) -> int | None:
        """How many frames that is, as far as the header tells."""
        total = self.end if info.frame_count is None else min(self.end or info.frame_count, info.frame_count)
        return None if total is None else max(total - (self.start or 0), 0)


def _even_times(info: MediaInfo) -> tuple[Fraction, ...]:
    """Times at an even rate, for files whose packets do not tell."""
    count = info.frame_count or math.floor(info.duration * info.frame_rate)
    return tuple(info.start_time + number / info.frame_rate for number in range(count))


@dataclass(frozen=True, slots=True)
class VideoPlan:
    """What is made of a video, and how much of it at once."""

    output: Path
    encoder: EncoderSettings
    trim: Trim
    window: WindowPlan
    decoder_threads: int


def process_video(
    info: MediaInfo, plan: VideoPlan, work: FrameWork, meter: MemoryMeter, events: EventSink, stop: StopToken
) -> Outcome:
    """Run the processors over a video and write it, verified, under its name.

    Raises:
        ContentRefusedError: the content filter refused it.
        MediaError: the target cannot be decoded.
        OutputError: the result cannot be written or is not whole, or no frame could be worked on.
        ResourceError: memory ran over the limit.
        Stopped: a stop was requested.
    """
    trim = plan.trim
    start, end = trim.times(info)
    outcome = Outcome()
    size = work.output_size(info.size)
    events.emit(StageStarted("process", trim.count(info)))
    try:
        with (
            VideoWriter(plan.output, info, size, plan.encoder, start=start, end=end) as writer,
            VideoReader(info, start=trim.start, end=trim.end, threads=plan.decoder_threads) as reader,
            closing(_observed(reader, work)) as tasks,
            closing(run_in_order(tasks, work.process, plan.window, stop, meter.pressure, meter.check)) as results,
        ):
            for result in results:
                with work.clock.measure("encode"):
                    writer.write(result.frame)
                outcome.count(result)
                events.emit(StageProgress())
                meter.check()
            outcome.check(plan.output)
            work.finish()
            stop.check()
            with work.clock.measure("encode"):
                writer.finish()
    finally:
        events.emit(StageFinished())
    outcome.notices.extend(writer.notices)
    if reader.damage.notice is not None:
        outcome.notices.append(f"{info.path}: {reader.damage.notice}.")
    return outcome


def _observed(reader: VideoReader, work: FrameWork) -> Generator[FrameTask, None, None]:
    """Observe frames in order, as they are decoded."""
    for frame in _timed(iter(reader), work.clock):
        yield work.observe(frame)


def _timed(frames: Iterator[Frame], clock: StageClock) -> Iterator[Frame]:
    while True:
        with clock.measure("decode"):
            frame = next(frames, None)
        if frame is None:
            return
        yield frame
