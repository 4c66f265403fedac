"""Making segments of a video: decode, follow, process and encode, from one cut to another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from itertools import chain
from pathlib import Path
from typing import Protocol, cast

from facefusion.core.stop import StopToken
from facefusion.media.frame_reader import frame_reader
from facefusion.media.probe import MediaInfo
from facefusion.memory.meter import MemoryMeter
from facefusion.memory.release import give_back
from facefusion.observability.events import EventSink, StageProgress
from facefusion.pipeline.checkpoint import Checkpoint
from facefusion.pipeline.frame_files import FrameFiles
from facefusion.pipeline.frames import FrameResult, FrameTask, FrameWork
from facefusion.pipeline.manifest import Manifest
from facefusion.pipeline.observation import Observation
from facefusion.pipeline.pace import Pace
from facefusion.pipeline.piece import Piece
from facefusion.pipeline.video_plan import VideoPlan
from facefusion.pipeline.window import Turn, run_in_order

FRAME_FILES = "frame_files"
"""The stage of writing and reading them."""


class Shelf(Protocol):
    """Where finished segments go."""

    def path_of(self, number: int) -> Path:
        """Where to write a segment's file."""

    def put(self, number: int, made: Manifest) -> None:
        """Keep a finished segment, whose file lies where :meth:`path_of` said."""


class SegmentMaker:
    """Makes segments of one video, the same ones whoever made those before.

    Args:
        info: the target.
        plan: what to make of it.
        work: on the frames.
        events: told of progress.
        files: that finished frames are written to as well; none where they are not.
    """

    def __init__(
        self, info: MediaInfo, plan: VideoPlan, work: FrameWork, events: EventSink, files: FrameFiles | None = None
    ) -> None:
        self._info = info
        self._plan = plan
        self._cuts = plan.segments
        self._work = work
        self._events = events
        self._files = files
        self._unseen = work.content.state()

    def make(
        self,
        first: int,
        until: int | None,
        before: Checkpoint | None,
        shelf: Shelf,
        meter: MemoryMeter,
        stop: StopToken,
    ) -> None:
        """Make some segments in order; each is put on the shelf as soon as all of it is there.

        Args:
            first: number of the first one.
            until: number of the one before which to end; the last one is made too where none.
            before: the checkpoint of the segment before the first; none for the beginning.
            shelf: takes them.
            meter: watches the memory.
            stop: asked between frames.

        Raises:
            ContentRefusedError: the content filter refused the target.
            MediaError: the target cannot be decoded.
            OutputError: a segment cannot be written.
            ResourceError: memory ran over the limit, or the disk is full.
            Stopped: a stop was requested.
        """
        plan = self._plan
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
            observation = Observation(reader, self._work, self._cuts, plan.together, plan.rate, first, before, until)
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
            self._write(first, results, observation, shelf, meter, stop)

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
        shelf: Shelf,
        meter: MemoryMeter,
        stop: StopToken,
    ) -> None:
        """Encode finished frames, from segment ``number`` on."""
        encoding = self._plan.encoding
        with ExitStack() as stack:
            piece = stack.enter_context(Piece(encoding, shelf.path_of(number), stop))
            for result in chain.from_iterable(groups):
                while self._cuts.number_of(result.frame.index) > number:
                    self._finish(number, piece, observation, shelf)
                    number += 1
                    piece = stack.enter_context(Piece(encoding, shelf.path_of(number), stop))
                with self._work.clock.measure("encode"):
                    piece.write(result, cast("Pace", observation.pace))
                del result  # the next one is waited for without it
                self._events.emit(StageProgress())
                meter.check()
            while number in observation.checkpoints:
                self._finish(number, piece, observation, shelf)
                number += 1
                piece = stack.enter_context(Piece(encoding, shelf.path_of(number), stop))

    def _finish(self, number: int, piece: Piece, observation: Observation, shelf: Shelf) -> None:
        with self._work.clock.measure("encode"):
            segment = piece.finish()
        give_back()  # what the encoder had, before the next one takes as much again
        checkpoint = observation.checkpoints.pop(number)
        piece.outcome.dropped_frames = checkpoint.dropped
        if checkpoint.dropped:
            self._events.emit(StageProgress(checkpoint.dropped))
        if self._files is not None:
            with self._work.clock.measure(FRAME_FILES):
                self._files.flush(piece.files)
        shelf.put(number, Manifest(segment, piece.outcome, checkpoint, piece.files))
