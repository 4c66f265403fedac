"""The work on one frame: what is seen of it in order, and what is done to it in parallel."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

from facefusion.core.errors import FaceFusionError, InferenceError, ResourceError
from facefusion.core.values import Face, Frame, Picture, Size
from facefusion.observability.events import EventSink, FrameHeld
from facefusion.pipeline.frame_files import FrameFile
from facefusion.pipeline.stages import StageClock
from facefusion.processors.base import Processor, Scene
from facefusion.vision.scaling import scaled

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Sighting:
    """The faces of one frame."""

    chosen: Sequence[Face] = ()
    """Those to work on."""
    found: int = 0
    """How many there are, chosen or not."""


FaceFinder: TypeAlias = Callable[[Frame], Sighting]
"""Looks for faces in an untouched frame. Called in frame order."""


class ContentCheck(Protocol):
    """Looks at untouched frames, in frame order, and raises ContentRefusedError once the target is refused."""

    def observe(self, frame: Frame) -> None:
        """Look at the next frame."""

    def state(self) -> Mapping[str, object]:
        """What was seen so far, fit for JSON."""

    def restore(self, state: Mapping[str, object]) -> None:
        """Go on from what :meth:`state` gave in an earlier run."""

    def finish(self) -> None:
        """Decide after the last frame, before the result is put in place."""


@dataclass(slots=True)
class FrameTask:
    """A frame that was observed and waits for the processors."""

    frame: Frame
    sighting: Sighting = Sighting()
    observations: Sequence[object] = ()
    failure: Exception | None = None
    """Why the frame cannot be worked on, where observing it failed."""


@dataclass(slots=True)
class FrameResult:
    """A finished frame."""

    frame: Frame
    faces: int
    """That were worked on."""
    found: int
    held: bool
    file: FrameFile | None = None
    """Where frames are written as image files."""


class Strand:
    """What is remembered from frame to frame within one segment: tracks, and what processors keep of them.

    Args:
        find_faces: with a memory of its own.
        processors: with memories of their own.
    """

    def __init__(self, find_faces: FaceFinder, processors: Sequence[Processor]) -> None:
        self.find_faces = find_faces
        self.processors = processors


class FrameWork:
    """Runs the processors over frames; one instance per video or image.

    Args:
        processors: in order.
        make_finder: makes a face finder that knows no frame yet.
        content: looks at every frame that is worked on.
        events: told of frames that are passed through.
        clock: counts busy seconds.
        halt_on_error: whether one frame that fails ends the run.
        final_size: of the result, where it is not the one that the processors give.
    """

    def __init__(
        self,
        processors: Sequence[Processor],
        make_finder: Callable[[], FaceFinder],
        content: ContentCheck,
        events: EventSink,
        clock: StageClock,
        *,
        halt_on_error: bool,
        final_size: Size | None = None,
    ) -> None:
        self._processors = processors
        self._make_finder = make_finder
        self.content = content
        self._events = events
        self.clock = clock
        self._halt_on_error = halt_on_error
        self._final_size = final_size

    def output_size(self, size: Size) -> Size:
        """Size of the result for a target of ``size``."""
        return self._final_size or self.processed_size(size)

    def processed_size(self, size: Size) -> Size:
        """Size of what the processors make of a target of ``size``."""
        for processor in self._processors:
            size = processor.output_size(size)
        return size

    def strand(self) -> Strand:
        """A memory for the frames of one segment."""
        return Strand(self._make_finder(), [processor.afresh() for processor in self._processors])

    def observe(self, frame: Frame, strand: Strand) -> FrameTask:
        """The part in frame order, on one thread.

        Args:
            frame: untouched.
            strand: of the frame's segment.
        """
        with self.clock.measure("content"):
            self.content.observe(frame)
        return self.look(frame, strand)

    def look(self, frame: Frame, strand: Strand) -> FrameTask:
        """As :meth:`observe`, past the content filter: what a frame before a segment is looked at for."""
        try:
            with self.clock.measure("analyse"):
                sighting = strand.find_faces(frame)
            observations = []
            for processor in strand.processors:
                with self.clock.measure(processor.name):
                    observations.append(processor.observe(frame, sighting.chosen))
        except Exception as failure:  # noqa: BLE001 - one bad frame must not end a long run
            self._raise_if_fatal(failure)
            return FrameTask(frame, failure=failure)
        return FrameTask(frame, sighting, observations)

    def process(self, task: FrameTask) -> FrameResult:
        """The part in any order, on any thread.

        A frame on which a processor fails is passed through as it was, and reported, unless ``halt_on_error`` is set.
        A lack of memory and errors of the program's own tree (a model that cannot be loaded, say) are not the frame's
        fault and end the run; of those only what a model could not make of this very picture is.
        """
        if task.failure is not None:
            return self._hold(task, task.failure)
        picture = task.frame.picture
        try:
            for processor, observation in zip(self._processors, task.observations, strict=True):
                with self.clock.measure(processor.name):
                    (picture,) = processor.process([Scene(picture, task.sighting.chosen, observation)])
        except Exception as failure:  # noqa: BLE001 - one bad frame must not end a long run
            self._raise_if_fatal(failure)
            return self._hold(task, failure)
        seen, picture = task.sighting, self._fitted(picture, task.frame)
        return FrameResult(replace(task.frame, picture=picture), len(seen.chosen), seen.found, held=False)

    def finish(self) -> None:
        """Say the last word on the target's content; called after the last frame, before the result gets its name.

        Raises:
            ContentRefusedError: the target is refused.
        """
        self.content.finish()

    def _raise_if_fatal(self, failure: Exception) -> None:
        """Let only those failures pass by that are a single frame's."""
        if isinstance(failure, MemoryError):
            raise ResourceError(
                "there is no memory left to work on a frame",
                "Raise --system-memory-limit, lower --execution-thread-count, or choose smaller models or frames.",
            ) from failure
        is_the_frames = isinstance(failure, InferenceError) or not isinstance(failure, FaceFusionError)
        if self._halt_on_error or not is_the_frames:
            raise failure

    def _hold(self, task: FrameTask, failure: Exception) -> FrameResult:
        frame = task.frame
        logger.debug("frame %d is passed through", frame.index, exc_info=failure)
        said = failure.fault if isinstance(failure, FaceFusionError) else f"{type(failure).__name__}: {failure}"
        self._events.emit(FrameHeld(frame.index, said))
        frame.picture.rollback()
        picture = self._fitted(frame.picture, frame)
        return FrameResult(replace(frame, picture=picture), 0, task.sighting.found, held=True)

    def _fitted(self, picture: Picture, frame: Frame) -> Picture:
        """A picture of a frame at the result's size."""
        size = self.output_size(frame.picture.size)
        if picture.size == size:
            return picture
        with self.clock.measure("scale"):
            return scaled(picture, size)
