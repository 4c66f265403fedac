"""The work on frames: what is seen of them in order, and what is done to several at once in parallel.

A frame goes through four steps. It is followed in frame order on one thread; then it is read, observed and processed
together with its neighbours on some worker's thread, where only observing keeps to the order.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from facefusion.core.errors import FaceFusionError, InferenceError, ResourceError
from facefusion.core.values import Frame, Picture, Size
from facefusion.memory.budget import LESS
from facefusion.observability.events import EventSink, FrameHeld
from facefusion.observability.stages import CONTENT, StageClock
from facefusion.pipeline.frame_files import FrameFile
from facefusion.pipeline.sighting import FaceFinder, Look, Strand
from facefusion.processors.base import Processor, Scene
from facefusion.vision.scaling import scaled

logger = logging.getLogger(__name__)


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


class FrameLabel(Protocol):
    """Is laid over every frame of the result, those too that are passed through."""

    def check(self, size: Size) -> None:
        """Raise UsageError where frames of a size have no room for it."""

    def over(self, picture: Picture) -> Picture:
        """A picture with the label on it; it may be the same, changed."""


@dataclass(slots=True)
class FrameTask:
    """A frame that was followed."""

    frame: Frame
    look: Look | None
    """By the strand of the frame's segment; none where the frame belongs to none that is made."""
    ahead: Look | None = None
    """By the strand of the segment to come, which the frame warms up; none where it is too far off."""


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


class FrameWork:
    """Runs the processors over frames; one instance per video or image.

    A frame that one step fails on is passed through as it was, and reported, unless ``halt_on_error`` is set; its
    neighbours are worked on all the same. A lack of memory and errors of the program's own tree (a model that cannot be
    loaded, say) are not the frame's fault and end the run; of those only what a model could not make of this very
    picture is.

    Args:
        processors: in order.
        finder: of faces.
        content: looks at every frame that is worked on.
        events: told of frames that are passed through.
        clock: counts busy seconds.
        halt_on_error: whether one frame that fails ends the run.
        final_size: of the result, where it is not the one that the processors give.
        label: laid over frames at last; none where they are left without.
    """

    def __init__(
        self,
        processors: Sequence[Processor],
        finder: FaceFinder,
        content: ContentCheck,
        events: EventSink,
        clock: StageClock,
        *,
        halt_on_error: bool,
        final_size: Size | None = None,
        label: FrameLabel | None = None,
    ) -> None:
        self._processors = processors
        self._finder = finder
        self.content = content
        self._events = events
        self.clock = clock
        self._halt_on_error = halt_on_error
        self._final_size = final_size
        self._label = label

    def output_size(self, size: Size) -> Size:
        """Size of the result for a target of ``size``."""
        return self._final_size or self.processed_size(size)

    def processed_size(self, size: Size) -> Size:
        """Size of what the processors make of a target of ``size``."""
        for processor in self._processors:
            size = processor.output_size(size)
        return size

    def check_label(self, size: Size) -> None:
        """Make sure that the result of a target of ``size`` has room for the label.

        Raises:
            UsageError: it has none.
        """
        if self._label is not None:
            self._label.check(self.output_size(size))

    def strand(self) -> Strand:
        """A memory for the frames of one segment."""
        return Strand(self._finder.afresh(), [processor.afresh() for processor in self._processors])

    def follow(self, frame: Frame, strand: Strand) -> Look:
        """The first step, in frame order on one thread: show the frame to the content filter and find its faces.

        Args:
            frame: untouched.
            strand: of the frame's segment.

        Raises:
            ContentRefusedError: the target is refused.
        """
        with self.clock.measure(CONTENT):
            self.content.observe(frame)
        return self.look(frame, strand)

    def look(self, frame: Frame, strand: Strand) -> Look:
        """As :meth:`follow`, past the content filter: what a frame before a segment is looked at for."""
        look = Look(strand)
        try:
            with self.clock.measure("analyse"):
                look.sighting = strand.finder.find(frame)
        except Exception as failure:  # noqa: BLE001 - one bad frame must not end a long run
            self._raise_if_fatal(failure)
            look.failure = failure
        return look

    def read(self, tasks: Sequence[FrameTask]) -> None:
        """The second step, in any order on any thread: look closer at the faces that were chosen.

        Strands are read for one after the other, so that what one reads does not depend on whether the other is there:
        a run that goes on with a segment has no look at the one before.
        """
        self._read([(task.frame, task.look) for task in tasks if task.look is not None])
        self._read([(task.frame, task.ahead) for task in tasks if task.ahead is not None])

    def observe(self, tasks: Sequence[FrameTask]) -> None:
        """The third step, in frame order on any thread: all that has a memory of the frames before."""
        for task in tasks:
            for look in (task.look, task.ahead):
                if look is not None and look.failure is None:
                    self._observe(task.frame, look)

    def process(self, tasks: Sequence[FrameTask]) -> list[FrameResult]:
        """The last step, in any order on any thread: change the frames that belong to a segment.

        Where that fails for all together, each frame has its way alone, from its untouched picture.
        """
        shown = [(task.frame, task.look) for task in tasks if task.look is not None]
        pictures = self._processed([(frame, look) for frame, look in shown if look.failure is None])
        return [self._result(frame, look, pictures.get(frame.index)) for frame, look in shown]

    def finish(self) -> None:
        """Say the last word on the target's content; called after the last frame, before the result gets its name.

        Raises:
            ContentRefusedError: the target is refused.
        """
        self.content.finish()

    def _read(self, looks: Sequence[tuple[Frame, Look]]) -> None:
        looks = [(frame, look) for frame, look in looks if look.failure is None and look.sighting.chosen]
        if not looks:
            return
        try:
            with self.clock.measure("analyse"):
                faces = self._finder.read([frame for frame, _ in looks], [look.sighting.chosen for _, look in looks])
        except Exception as failure:  # noqa: BLE001 - one bad frame must not end a long run
            self._raise_if_fatal(failure)
            if len(looks) == 1:
                looks[0][1].failure = failure
                return
            for one in looks:
                self._read([one])
            return
        for (_, look), chosen in zip(looks, faces, strict=True):
            look.sighting = replace(look.sighting, chosen=chosen)

    def _observe(self, frame: Frame, look: Look) -> None:
        try:
            with self.clock.measure("analyse"):
                chosen = look.strand.finder.steady(frame, look.sighting.chosen)
            look.sighting = replace(look.sighting, chosen=chosen)
            observations = []
            for processor in look.strand.processors:
                with self.clock.measure(processor.name):
                    observations.append(processor.observe(frame, chosen))
            look.observations = observations
        except Exception as failure:  # noqa: BLE001 - one bad frame must not end a long run
            self._raise_if_fatal(failure)
            look.failure = failure

    def _processed(self, looks: Sequence[tuple[Frame, Look]]) -> dict[int, Picture]:
        """The pictures that the processors make, by the frame's index; a frame that fails is noted in its look."""
        try:
            return dict(zip((frame.index for frame, _ in looks), self._through_all(looks), strict=True))
        except Exception as failure:  # noqa: BLE001 - one bad frame must not end a long run
            self._raise_if_fatal(failure)
            for frame, _ in looks:
                frame.picture.rollback()
            if len(looks) == 1:
                looks[0][1].failure = failure
                return {}
            alone: dict[int, Picture] = {}
            for one in looks:
                alone |= self._processed([one])
            return alone

    def _through_all(self, looks: Sequence[tuple[Frame, Look]]) -> Sequence[Picture]:
        pictures: Sequence[Picture] = [frame.picture for frame, _ in looks]
        if not looks:
            return pictures
        for number, processor in enumerate(self._processors):
            scenes = [
                Scene(picture, look.sighting.chosen, look.observations[number])
                for picture, (_, look) in zip(pictures, looks, strict=True)
            ]
            with self.clock.measure(processor.name):
                pictures = processor.process(scenes)
        return pictures

    def _raise_if_fatal(self, failure: Exception) -> None:
        """Let only those failures pass by that are a single frame's."""
        if isinstance(failure, MemoryError):
            raise ResourceError("there is no memory left to work on a frame", LESS) from failure
        is_the_frames = isinstance(failure, InferenceError) or not isinstance(failure, FaceFusionError)
        if self._halt_on_error or not is_the_frames:
            raise failure

    def _result(self, frame: Frame, look: Look, picture: Picture | None) -> FrameResult:
        """A finished frame; as it was where there is no new picture."""
        seen = look.sighting
        if picture is None:
            self._tell_held(frame, look.failure)
            return FrameResult(replace(frame, picture=self._finished(frame.picture, frame)), 0, seen.found, held=True)
        return FrameResult(replace(frame, picture=self._finished(picture, frame)), len(seen.chosen), seen.found, False)

    def _tell_held(self, frame: Frame, failure: Exception | None) -> None:
        logger.debug("frame %d is passed through", frame.index, exc_info=failure)
        said = failure.fault if isinstance(failure, FaceFusionError) else f"{type(failure).__name__}: {failure}"
        self._events.emit(FrameHeld(frame.index, said))

    def _finished(self, picture: Picture, frame: Frame) -> Picture:
        """A picture of a frame as the result shows it."""
        picture = self._fitted(picture, frame)
        if self._label is None:
            return picture
        with self.clock.measure("label"):
            return self._label.over(picture)

    def _fitted(self, picture: Picture, frame: Frame) -> Picture:
        """A picture of a frame at the result's size."""
        size = self.output_size(frame.picture.size)
        if picture.size == size:
            return picture
        with self.clock.measure("scale"):
            return scaled(picture, size)
