"""Processing one video: decode, follow, process and encode segment by segment, then join the segments.

A finished segment is recorded in the work folder with all that a later run needs to go on after it, so a run that was
killed loses at most the segment it was at, and its result is the same as an undisturbed run's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import cast

from facefusion.core.errors import ContentRefusedError, MediaError, OutputError, UsageError
from facefusion.core.formats import is_moving_image
from facefusion.core.stop import StopToken
from facefusion.media.animate import Drawing, animate
from facefusion.media.assemble import Cut, Sound, assemble
from facefusion.media.damage import Damage
from facefusion.media.decoder_card import DecoderCard
from facefusion.media.encoding import Encoding
from facefusion.media.frame_image import FrameFormat
from facefusion.media.frame_reader import frame_reader
from facefusion.media.probe import MediaInfo
from facefusion.memory.meter import MemoryMeter
from facefusion.memory.release import give_back
from facefusion.observability.events import EventSink, Notice, StageFinished, StageProgress, StageStarted
from facefusion.pipeline.frame_files import FrameFiles
from facefusion.pipeline.frames import FrameResult, FrameTask, FrameWork
from facefusion.pipeline.manifest import Manifest
from facefusion.pipeline.observation import Observation
from facefusion.pipeline.outcome import Outcome, Processed
from facefusion.pipeline.pace import Pace
from facefusion.pipeline.piece import Piece
from facefusion.pipeline.segments import SegmentPlan, stretches
from facefusion.pipeline.window import Turn, WindowPlan, run_in_order
from facefusion.pipeline.work_folder import WorkFolder

FRAME_FILES = "frame_files"
"""The stage of writing and reading them."""


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
    together: int
    """Frames that are worked on together, at least 1; part of what decides the result."""
    window: WindowPlan
    """Of groups of so many frames."""
    decoder_threads: int
    frame_format: FrameFormat | None = None
    """Of the files that finished frames are written to as well; none where they are not."""
    keep_folder: bool = False
    """Whether the work folder stays when the result is in place."""
    decoder_card: DecoderCard | None = None
    """Decodes as long as it gives the same frames; none where the processor does."""

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
    with ExitStack() as stack:
        files = None
        if plan.frame_format is not None:
            files = stack.enter_context(FrameFiles(folder.path, plan.frame_format))
        run = _Run(info, plan, folder, work, events, files)
        events.emit(StageStarted("process", plan.trim.count(info)))
        complete = False
        try:
            run.renew(meter, stop)
            if not run.complete:
                run.render(meter, stop)
            notices = run.join(stop)
            complete = True
            if run.damage.notice is not None:
                events.emit(Notice(f"{info.path}: {run.damage.notice}.", warning=True))
        except ContentRefusedError:
            folder.discard()
            raise
        finally:
            events.emit(StageFinished(complete))
    folder.finish(keep=plan.keep_folder)
    return Processed(run.outcome, run.damage, run.resumed, notices)


class _Run:
    """One run over a video: takes over finished segments, makes those that are left, and joins all."""

    def __init__(
        self,
        info: MediaInfo,
        plan: VideoPlan,
        folder: WorkFolder,
        work: FrameWork,
        events: EventSink,
        files: FrameFiles | None,
    ) -> None:
        self._info = info
        self._plan = plan
        self._cuts = plan.segments
        self._rate = plan.encoding.frame_rate if plan.encoding.constant_rate else None
        self._folder = folder
        self._work = work
        self._events = events
        self._files = files
        self._unseen = work.content.state()
        self._manifests = [
            Manifest.from_json(record, folder.segment_path(number)) for number, record in enumerate(folder.records)
        ]
        self._made = False
        self.resumed = 0
        """Frames of the target that an earlier run had finished, and that are taken as they are."""

    @property
    def outcome(self) -> Outcome:
        """What came out so far."""
        total = Outcome()
        for manifest in self._manifests:
            total.add(manifest.outcome)
        return total

    @property
    def complete(self) -> bool:
        """Whether every segment is there."""
        return bool(self._manifests) and self._manifests[-1].checkpoint.anchor is None

    @property
    def damage(self) -> Damage:
        """What was found in the target so far."""
        return self._manifests[-1].checkpoint.damage if self._manifests else Damage()

    def renew(self, meter: MemoryMeter, stop: StopToken) -> None:
        """Make those finished segments again whose frames are not as their files are now."""
        stale = []
        for number, manifest in enumerate(self._manifests):
            stop.check()
            if self._is_current(manifest):
                self.resumed += manifest.outcome.frames_read
            else:
                stale.append(number)
        if self.resumed:
            self._events.emit(StageProgress(self.resumed, earlier=True))
        if stale:
            reason = "without what was changed in frames by hand; --workflow-strategy disk takes that over"
            if self._files is not None:
                reason = f"since frames in {self._files.folder} were changed or are not there"
            count = f"{len(stale)} of {len(self._manifests)}"
            self._events.emit(Notice(f"Finished segments that are made again, {reason}: {count}."))
        for first, until in stretches(stale):
            self._make(first, until, meter, stop)

    def render(self, meter: MemoryMeter, stop: StopToken) -> None:
        """Make the segments that are left."""
        self._make(len(self._manifests), None, meter, stop)

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
        last = self._manifests[-1].checkpoint
        self._work.content.restore(last.content)
        self._work.finish()
        stop.check()
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

    def _is_current(self, manifest: Manifest) -> bool:
        """Whether a finished segment shows its frames as their files are, or, without files, as they came out."""
        if self._files is None:
            return not manifest.edited
        with self._work.clock.measure(FRAME_FILES):
            files = manifest.files
            return len(files) == manifest.outcome.frames and all(map(self._files.holds, files, files.values()))

    def _make(self, first: int, until: int | None, meter: MemoryMeter, stop: StopToken) -> None:
        """Make the segments from number ``first`` to before ``until``."""
        self._made = True
        plan, before = self._plan, self._manifests[first - 1].checkpoint if first else None
        anchor = None if before is None else before.anchor
        start = plan.trim.start if anchor is None else None
        self._work.content.restore(self._unseen if before is None else before.content)
        with ExitStack() as stack:
            reader = stack.enter_context(
                frame_reader(
                    self._info,
                    start=start,
                    end=plan.trim.end,
                    threads=plan.decoder_threads,
                    anchor=anchor,
                    check=stop.check,
                    card=plan.decoder_card,
                )
            )
            observation = Observation(reader, self._work, self._cuts, plan.together, self._rate, first, before, until)
            groups = stack.enter_context(closing(observation.groups()))
            results = stack.enter_context(
                closing(
                    run_in_order(
                        groups,
                        self._process,
                        plan.window,
                        stop,
                        meter.pressure,
                        meter.check,
                        self._work.clock.measure,
                    )
                )
            )
            self._write(first, results, observation, meter, stop)

    def _process(self, group: Sequence[FrameTask], turn: Turn) -> list[FrameResult]:
        """All that is done to the frames of a group, on any thread."""
        self._work.read(group)
        with turn:
            self._work.observe(group)
        results = self._work.process(group)
        if self._files is not None:
            with self._work.clock.measure(FRAME_FILES):
                for result in results:
                    result.file = self._files.keep(result.frame.index, result.frame.picture)
        return results

    def _write(
        self,
        number: int,
        groups: Iterator[list[FrameResult]],
        observation: Observation,
        meter: MemoryMeter,
        stop: StopToken,
    ) -> None:
        """Encode finished frames, from segment ``number`` on; a segment is recorded as soon as all of it is there."""
        with ExitStack() as stack:
            piece = self._piece(number, stack, stop)
            for result in chain.from_iterable(groups):
                while self._cuts.number_of(result.frame.index) > number:
                    self._record(number, piece, observation)
                    number += 1
                    piece = self._piece(number, stack, stop)
                with self._work.clock.measure("encode"):
                    piece.write(result, cast("Pace", observation.pace))
                del result  # the next one is waited for without it
                self._events.emit(StageProgress())
                meter.check()
            while number in observation.checkpoints:
                self._record(number, piece, observation)
                number += 1
                piece = self._piece(number, stack, stop)

    def _piece(self, number: int, stack: ExitStack, stop: StopToken) -> Piece:
        is_there = number < len(self._manifests)
        path = self._folder.spare_path(number) if is_there else self._folder.segment_path(number)
        return stack.enter_context(Piece(self._plan.encoding, path, stop))

    def _record(self, number: int, piece: Piece, observation: Observation) -> None:
        with self._work.clock.measure("encode"):
            segment = piece.finish()
        give_back()  # what the encoder had, before the next one takes as much again
        file = None if segment is None else segment.path
        if segment is not None:
            segment = replace(segment, path=self._folder.segment_path(number))
        checkpoint = observation.checkpoints.pop(number)
        piece.outcome.dropped_frames = checkpoint.dropped
        if checkpoint.dropped:
            self._events.emit(StageProgress(checkpoint.dropped))
        manifest = Manifest(segment, piece.outcome, checkpoint, piece.files)
        if number < len(self._manifests):  # what is seen in a target does not change with its frames' files
            manifest = replace(manifest, checkpoint=self._manifests[number].checkpoint)
        if self._files is not None:
            with self._work.clock.measure(FRAME_FILES):
                self._files.flush(piece.files)
        self._folder.record(number, file, manifest.to_json())
        self._manifests[number : number + 1] = [manifest]

    def _notices(self) -> Iterator[str]:
        dropped, repeated = self.outcome.dropped_frames, self.outcome.repeated_frames
        if dropped or repeated:
            rate = float(self._plan.encoding.frame_rate)
            yield f"At {rate:.6g} frames per second {dropped} frames are left out and {repeated} are shown again."
        if self._files is not None:
            edited = [index for manifest in self._manifests for index in manifest.edited]
            keep = self._plan.keep_folder or self._folder.is_to_stay
            yield from self._files.notices(edited, made=self._made, keep=keep)
        elif self._folder.is_to_stay:
            yield f"{self._folder.path} stays, as an earlier run was to keep it."

    def _no_frame(self) -> MediaError:
        first = self._plan.trim.start or 0
        return MediaError(
            f"{self._info.path} has no frame from {first} on", "Choose another --trim-frame-start or --trim-frame-end."
        )
