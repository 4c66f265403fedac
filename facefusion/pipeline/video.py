"""Processing one video: decode, observe, process and encode segment by segment, then join the segments.

A finished segment is recorded in the work folder with all that a later run needs to go on after it, so a run that was
killed loses at most the segment it was at, and its result is the same as an undisturbed run's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self, cast

from facefusion.core.errors import ContentRefusedError, MediaError, OutputError, UsageError
from facefusion.core.formats import is_moving_image
from facefusion.core.stop import StopToken
from facefusion.media.animate import Drawing, animate
from facefusion.media.assemble import Cut, Sound, assemble
from facefusion.media.damage import Damage
from facefusion.media.encoding import Encoding
from facefusion.media.frame_reader import frame_reader
from facefusion.media.probe import MediaInfo
from facefusion.media.segment import Segment, SegmentWriter
from facefusion.media.segment_writer import segment_writer
from facefusion.memory.meter import MemoryMeter
from facefusion.observability.events import EventSink, StageFinished, StageProgress, StageStarted
from facefusion.pipeline.frames import FrameResult, FrameWork
from facefusion.pipeline.manifest import Manifest
from facefusion.pipeline.observation import Observation
from facefusion.pipeline.outcome import Outcome, Processed
from facefusion.pipeline.pace import Pace
from facefusion.pipeline.segments import SegmentPlan
from facefusion.pipeline.window import WindowPlan, run_in_order
from facefusion.pipeline.work_folder import WorkFolder


@dataclass(frozen=True, slots=True)
class Trim:
    """The part of a video that is worked on; frame indices, ``end`` exclusive."""

    start: int | None = None
    end: int | None = None

    def check(self) -> None:
        """Make sure that a part is meant.

        Raises:
            UsageError: it ends before it begins.
        """
        if self.end is not None and self.end <= (self.start or 0):
            raise UsageError(
                f"the part from frame {self.start or 0} to before {self.end} holds no frame",
                "Choose a --trim-frame-end above --trim-frame-start.",
            )

    def count(self, info: MediaInfo) -> int | None:
        """How many frames that is, as far as the header tells."""
        total = self.end if info.frame_count is None else min(self.end or info.frame_count, info.frame_count)
        return None if total is None else max(total - (self.start or 0), 0)


@dataclass(frozen=True, slots=True)
class VideoPlan:
    """What is made of a video, and how much of it at once."""

    output: Path
    encoding: Encoding
    sound: Sound
    image_quality: int
    """0..100, of an animated image."""
    trim: Trim
    segment_frames: int
    window: WindowPlan
    decoder_threads: int

    @property
    def segments(self) -> SegmentPlan:
        """Where the video is cut."""
        return SegmentPlan(self.trim.start or 0, self.trim.end, self.segment_frames)


def process_video(
    info: MediaInfo,
    plan: VideoPlan,
    folder: WorkFolder,
    work: FrameWork,
    meter: MemoryMeter,
    events: EventSink,
    stop: StopToken,
) -> Processed:
    """Run the processors over a video and write it, verified, under its name.

    Args:
        info: the target.
        plan: what to make of it.
        folder: open; finished segments are recorded in it, and those it has already are taken over.
        work: on the frames.
        meter: watches the memory.
        events: told of progress.
        stop: asked between frames.

    Raises:
        ContentRefusedError: the content filter refused it.
        MediaError: the target cannot be decoded.
        OutputError: the result cannot be written or is not whole, or no frame could be worked on.
        ResourceError: memory ran over the limit, or the disk is full.
        Stopped: a stop was requested; finished segments stay in the folder.
    """
    run = _Run(info, plan, folder, work, events)
    resumed = run.frames
    events.emit(StageStarted("process", plan.trim.count(info)))
    try:
        if resumed:
            events.emit(StageProgress(resumed))
        if not run.complete:
            run.render(meter, stop)
        notices = run.join(stop)
    except ContentRefusedError:
        folder.discard()
        raise
    finally:
        events.emit(StageFinished())
    folder.discard()
    return Processed(run.outcome, run.damage, resumed, notices)


class _Run:
    """One run over a video: takes over finished segments, makes those that are left, and joins all."""

    def __init__(
        self, info: MediaInfo, plan: VideoPlan, folder: WorkFolder, work: FrameWork, events: EventSink
    ) -> None:
        self._info = info
        self._plan = plan
        self._cuts = plan.segments
        self._rate = plan.encoding.frame_rate if plan.encoding.constant_rate else None
        self._folder = folder
        self._work = work
        self._events = events
        self._manifests = [
            Manifest.from_json(record, folder.segment_path(number)) for number, record in enumerate(folder.records)
        ]
        self.outcome = Outcome()
        for manifest in self._manifests:
            self.outcome.add(manifest.outcome)
        if self._manifests:
            work.content.restore(self._manifests[-1].checkpoint.content)

    @property
    def frames(self) -> int:
        """Frames of the target that are done."""
        return self.outcome.frames + self.outcome.dropped_frames

    @property
    def complete(self) -> bool:
        """Whether every segment is there."""
        return bool(self._manifests) and self._manifests[-1].checkpoint.anchor is None

    @property
    def damage(self) -> Damage:
        """What was found in the target so far."""
        return self._manifests[-1].checkpoint.damage if self._manifests else Damage()

    def render(self, meter: MemoryMeter, stop: StopToken) -> None:
        """Make the segments that are left."""
        plan, before = self._plan, self._manifests[-1].checkpoint if self._manifests else None
        anchor = None if before is None else before.anchor
        start = plan.trim.start if anchor is None else None
        with ExitStack() as stack:
            reader = stack.enter_context(
                frame_reader(self._info, start=start, end=plan.trim.end, threads=plan.decoder_threads, anchor=anchor)
            )
            observation = Observation(
                reader, self._work, self._cuts, self._rate, first=len(self._manifests), before=before
            )
            tasks = stack.enter_context(closing(observation.tasks()))
            results = stack.enter_context(
                closing(run_in_order(tasks, self._work.process, plan.window, stop, meter.pressure, meter.check))
            )
            self._write(results, observation, meter, stop)

    def join(self, stop: StopToken) -> tuple[str, ...]:
        """Put the segments together; what the user should know."""
        plan = self._plan
        if not self._manifests:
            raise self._no_frame()
        try:
            self.outcome.check(plan.output)
        except OutputError:
            self._folder.discard()  # nothing in it is worth going on from
            raise
        self._work.finish()
        stop.check()
        last = self._manifests[-1].checkpoint
        cut = Cut(
            last.origin if plan.trim.start else None,
            last.end if plan.trim.end is not None else None,
        )
        segments = [manifest.segment for manifest in self._manifests if manifest.segment is not None]
        with self._work.clock.measure("join"):
            if is_moving_image(plan.output):
                drawing = Drawing(plan.image_quality, self._cuts.start)
                notices = animate(plan.output, segments, plan.encoding, self._info, drawing, stop)
            else:
                notices = assemble(plan.output, segments, plan.encoding, self._info, cut, stop, plan.sound)
        return (*notices, *self._notices())

    def _write(
        self, results: Iterator[FrameResult], observation: Observation, meter: MemoryMeter, stop: StopToken
    ) -> None:
        """Encode finished frames; a segment is recorded as soon as all of it is there."""
        with ExitStack() as stack:
            piece = self._next_piece(stack, stop)
            for result in results:
                while self._cuts.number_of(result.frame.index) > len(self._manifests):
                    self._record(piece, observation)
                    piece = self._next_piece(stack, stop)
                with self._work.clock.measure("encode"):
                    piece.write(result, cast("Pace", observation.pace))
                self._events.emit(StageProgress())
                meter.check()
            while len(self._manifests) in observation.checkpoints:
                self._record(piece, observation)
                piece = self._next_piece(stack, stop)

    def _next_piece(self, stack: ExitStack, stop: StopToken) -> _Piece:
        path = self._folder.segment_path(len(self._manifests))
        return stack.enter_context(_Piece(self._plan.encoding, path, stop))

    def _record(self, piece: _Piece, observation: Observation) -> None:
        number = len(self._manifests)
        with self._work.clock.measure("encode"):
            segment = piece.finish()
        checkpoint = observation.checkpoints.pop(number)
        piece.outcome.dropped_frames = checkpoint.dropped
        if checkpoint.dropped:
            self._events.emit(StageProgress(checkpoint.dropped))
        manifest = Manifest(segment, piece.outcome, checkpoint)
        self._folder.record(number, None if segment is None else segment.path, manifest.to_json())
        self._manifests.append(manifest)
        self.outcome.add(piece.outcome)

    def _notices(self) -> Iterator[str]:
        if self.damage.notice is not None:
            yield f"{self._info.path}: {self.damage.notice}."
        dropped, repeated = self.outcome.dropped_frames, self.outcome.repeated_frames
        if dropped or repeated:
            rate = float(self._plan.encoding.frame_rate)
            yield f"At {rate:.6g} frames per second {dropped} frames are left out and {repeated} are shown again."

    def _no_frame(self) -> MediaError:
        first = self._plan.trim.start or 0
        return MediaError(
            f"{self._info.path} has no frame from {first} on", "Choose another --trim-frame-start or --trim-frame-end."
        )


class _Piece:
    """The segment that is being written, with its counts. A context manager; the file is made with the first frame."""

    def __init__(self, encoding: Encoding, path: Path, stop: StopToken) -> None:
        self.outcome = Outcome()
        self._stop = stop
        self._encoding = encoding
        self._path = path
        self._stack = ExitStack()
        self._writer: SegmentWriter | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def write(self, result: FrameResult, pace: Pace) -> None:
        """Encode a finished frame, as often as it is shown."""
        if self._writer is None:
            self._writer = self._stack.enter_context(segment_writer(self._encoding, self._path, self._stop))
        places = pace.places(result.frame)
        for time, duration in places:
            self._writer.write(replace(result.frame, time=time, duration=duration))
        self.outcome.count(result)
        self.outcome.repeated_frames += len(places) - 1

    def finish(self) -> Segment | None:
        """Complete the file; none where no frame came."""
        return None if self._writer is None else self._writer.finish()
