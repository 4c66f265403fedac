"""The target of a step, opened: what it is, what is seen in it, and whom to look for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from facefusion.app.faces import build_tracker
from facefusion.config.state import Snapshot
from facefusion.core.formats import MediaKind
from facefusion.core.values import Face, Frame, Picture
from facefusion.faces.analyse import FaceAnalyser
from facefusion.faces.landmark.refine import OutlineSmoother
from facefusion.faces.selection import Selector
from facefusion.faces.settings import FaceSelectorSettings
from facefusion.faces.track import FaceTracker
from facefusion.media.frame_reader import frame_reader
from facefusion.media.image import ImageDetails, read_image_with_details
from facefusion.media.probe import MediaInfo, probe
from facefusion.pipeline.sighting import FaceFinder, Sighting
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
        """Frames from ``start`` on, for as long as the context is open; an image is one frame.

        One thread decodes: each further one holds frames, and gives the first one, which mostly is all that is wanted,
        no sooner.
        """
        if self.still is not None:
            yield (Frame(0, Fraction(0), self.still.picture),)
            return
        with frame_reader(self.info, start=start, threads=1) as reader:
            yield reader


def face_finder(
    subject: Subject, snapshot: Snapshot, analyser: FaceAnalyser, make_selector: Callable[[], Selector]
) -> FaceFinder:
    """What finds the faces to work on in each frame.

    Args:
        subject: the target.
        snapshot: the settings in force.
        analyser: finds and recognises.
        make_selector: makes what chooses among the faces of a frame.
    """
    if subject.still is not None:
        return _FacesOfImage(analyser, make_selector, recognise=snapshot.get(FaceSelectorSettings).by_identity)
    return _FollowedFaces(analyser, lambda: build_tracker(snapshot, analyser), make_selector)


class _FacesOfImage:
    """Finds those of one picture, all at once."""

    def __init__(self, analyser: FaceAnalyser, make_selector: Callable[[], Selector], *, recognise: bool) -> None:
        self._analyser = analyser
        self._make_selector = make_selector
        self._selector = make_selector()
        self._recognise = recognise

    def find(self, frame: Frame) -> Sighting:
        faces = self._analyser.faces(frame.picture, recognise=self._recognise, classify=not self._recognise)
        return Sighting(self._selector.select(faces), len(faces))

    def read(self, frames: Sequence[Frame], faces: Sequence[Sequence[Face]]) -> Sequence[Sequence[Face]]:
        return self._analyser.refine_each([frame.picture for frame in frames], faces)

    def steady(self, frame: Frame, faces: Sequence[Face]) -> Sequence[Face]:
        return faces

    def afresh(self) -> FaceFinder:
        return _FacesOfImage(self._analyser, self._make_selector, recognise=self._recognise)


class _FollowedFaces:
    """Follows those of a video from frame to frame."""

    def __init__(
        self, analyser: FaceAnalyser, make_tracker: Callable[[], FaceTracker], make_selector: Callable[[], Selector]
    ) -> None:
        self._analyser = analyser
        self._make_tracker = make_tracker
        self._make_selector = make_selector
        self._tracker = make_tracker()
        self._selector = make_selector()
        self._smoother = OutlineSmoother()

    def find(self, frame: Frame) -> Sighting:
        faces = self._tracker.observe(frame)
        return Sighting(self._selector.select(faces, float(frame.time)), len(faces))

    def read(self, frames: Sequence[Frame], faces: Sequence[Sequence[Face]]) -> Sequence[Sequence[Face]]:
        return self._analyser.refine_each([frame.picture for frame in frames], faces)

    def steady(self, frame: Frame, faces: Sequence[Face]) -> Sequence[Face]:
        return self._smoother.smooth(faces, float(frame.time))

    def afresh(self) -> FaceFinder:
        return _FollowedFaces(self._analyser, self._make_tracker, self._make_selector)
