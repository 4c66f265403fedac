"""The target of a step, opened: what it is, what is seen in it, and whom to look for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from facefusion.app.faces import build_tracker
from facefusion.config.state import Snapshot
from facefusion.core.formats import MediaKind
from facefusion.core.values import Frame, Picture
from facefusion.faces.analyse import FaceAnalyser
from facefusion.faces.landmark.refine import OutlineSmoother
from facefusion.faces.selection import Selector
from facefusion.faces.settings import FaceSelectorSettings
from facefusion.media.frame_reader import frame_reader
from facefusion.media.image import ImageDetails, read_image_with_details
from facefusion.media.probe import MediaInfo, probe
from facefusion.pipeline.frames import FaceFinder, Sighting
from facefusion.processors.base import Target


@dataclass(frozen=True, slots=True)
class Still:
    """An image target, read."""

    picture: Picture
    details: ImageDetails


@dataclass(frozen=True, slots=True)
class Subject:
    """The target."""

    info: MediaInfo
    still: Still | None
    """The picture of an image; none for a video, which is read frame by frame."""

    @classmethod
    def open(cls, path: Path) -> Subject:
        """Look at the target; read it where it is an image.

        Raises:
            MediaError: it cannot be read.
        """
        info = probe(path)
        return cls(info, Still(*read_image_with_details(path)) if info.kind is MediaKind.IMAGE else None)

    @property
    def target(self) -> Target:
        """What processors may know of it."""
        if self.still is not None:
            return Target(size=self.still.picture.size, frame_rate=0.0, is_video=False)
        return Target(size=self.info.size, frame_rate=float(self.info.frame_rate), is_video=True)

    @property
    def duration(self) -> float | None:
        """In seconds; 0 for an image, none where unknown."""
        if self.still is not None:
            return 0.0
        return float(self.info.duration) if self.info.duration > 0 else None

    @contextmanager
    def frames(self, start: int) -> Iterator[Iterable[Frame]]:
        """Frames from ``start`` on, for as long as the context is open; an image is one frame."""
        if self.still is not None:
            yield (Frame(0, Fraction(0), self.still.picture),)
            return
        with frame_reader(self.info, start=start) as reader:
            yield reader


def face_finders(
    subject: Subject, snapshot: Snapshot, analyser: FaceAnalyser, make_selector: Callable[[], Selector]
) -> Callable[[], FaceFinder]:
    """What makes finders of the faces to work on in each frame. Each finder follows faces on its own.

    Args:
        subject: the target.
        snapshot: the settings in force.
        analyser: finds and recognises.
        make_selector: makes what chooses among the faces of a frame.
    """
    recognise = snapshot.get(FaceSelectorSettings).by_identity

    def for_image() -> FaceFinder:
        selector = make_selector()

        def find(frame: Frame) -> Sighting:
            faces = analyser.faces(frame.picture, recognise=recognise, classify=not recognise)
            return Sighting(analyser.refine(frame.picture, selector.select(faces)), len(faces))

        return find

    def for_video() -> FaceFinder:
        selector, tracker = make_selector(), build_tracker(snapshot, analyser)
        smoother = OutlineSmoother()

        def find(frame: Frame) -> Sighting:
            faces, time = tracker.observe(frame), float(frame.time)
            chosen = analyser.refine(frame.picture, selector.select(faces, time))
            return Sighting(smoother.smooth(chosen, time), len(faces))

        return find

    return for_video if subject.still is None else for_image
