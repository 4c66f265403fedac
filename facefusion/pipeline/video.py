"""Processing one video: decode, follow, process and encode segment by segment, then join the segments.

A finished segment is recorded in the work folder with all that a later run needs to go on after it, so a run that was
killed loses at most the segment it was at, and its result is the same as an undisturbed run's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from facefusion.core.errors import ContentRefusedError, OutputError
from facefusion.core.stop import StopToken
from facefusion.media.damage import Damage
from facefusion.media.probe import MediaInfo
from facefusion.memory.meter import MemoryMeter
from facefusion.observability.events import EventSink, Notice, StageFinished, StageProgress, StageStarted
from facefusion.pipeline.frame_files import FrameFiles
from facefusion.pipeline.frames import FrameWork
from facefusion.pipeline.joining import join_segments, outcome_of, tell_damage
from facefusion.pipeline.making import FRAME_FILES, SegmentMaker
from facefusion.pipeline.manifest import Manifest
from facefusion.pipeline.outcome import Outcome, Processed
from facefusion.pipeline.segments import stretches
from facefusion.pipeline.video_plan import VideoPlan
from facefusion.pipeline.work_folder import WorkFolder


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
            tell_damage(info, run.damage, events)
        except ContentRefusedError:
            folder.discard()
            raise
        finally:
            events.emit(StageFinished(complete))
    folder.finish(keep=plan.keep_folder)
    return Processed(run.outcome, run.damage, run.resumed, notices)


class _Run:
    """One run over a video: takes over finished segments, makes those that are left, and joins all.

    It is the shelf of its own segments: they go into the work folder.
    """

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
        self._folder = folder
        self._work = work
        self._events = events
        self._files = files
        self._maker = SegmentMaker(info, plan, work, events, files)
        self._manifests = [
            Manifest.from_json(record, folder.segment_path(number)) for number, record in enumerate(folder.records)
        ]
        self._made = False
        self.resumed = 0
        """Frames of the target that an earlier run had finished, and that are taken as they are."""

    @property
    def outcome(self) -> Outcome:
        """What came out so far."""
        return outcome_of(self._manifests)

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
        if not self._manifests:
            raise self._plan.trim.none_in(self._info)
        try:
            self.outcome.check(self._plan.output)
        except OutputError:
            self._folder.discard()  # nothing in it is worth going on from
            raise
        notices = join_segments(self._info, self._plan, self._manifests, self._work, stop)
        return (*notices, *self._notices())

    def path_of(self, number: int) -> Path:
        """Where to write a segment's file; one that is there already stays until the new one is whole."""
        is_there = number < len(self._manifests)
        return self._folder.spare_path(number) if is_there else self._folder.segment_path(number)

    def put(self, number: int, made: Manifest) -> None:
        """Record a finished segment."""
        file = None
        if made.segment is not None:
            file = made.segment.path
            made = replace(made, segment=replace(made.segment, path=self._folder.segment_path(number)))
        if number < len(self._manifests):  # what is seen in a target does not change with its frames' files
            made = replace(made, checkpoint=self._manifests[number].checkpoint)
        self._folder.record(number, file, made.to_json())
        self._manifests[number : number + 1] = [made]

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
        before = self._manifests[first - 1].checkpoint if first else None
        self._maker.make(first, until, before, self, meter, stop)

    def _notices(self) -> Iterator[str]:
        if self._files is not None:
            edited = [index for manifest in self._manifests for index in manifest.edited]
            keep = self._plan.keep_folder or self._folder.is_to_stay
            yield from self._files.notices(edited, made=self._made, keep=keep)
        elif self._folder.is_to_stay:
            yield f"{self._folder.path} stays, as an earlier run was to keep it."
