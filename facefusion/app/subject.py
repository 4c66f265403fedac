"""The target of a step, opened: what it is, what is seen in it, and whom to look for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from facefusion.app.faces import build_tracker
from facefusion.config.origin import DEFAULT
from facefusion.config.state import Snapshot
from facefusion.core.errors import PastEndError
from facefusion.core.formats import MediaKind
from facefusion.core.values import Embedding, FaceTraits, Frame, Picture
from facefusion.faces.analyse import FaceAnalyser
from facefusion.faces.landmark.refine import OutlineSmoother
from facefusion.faces.selection import FaceSelector, find_reference, sort_faces
from facefusion.faces.settings import FaceSelectorSettings
from facefusion.faces.traits import TraitFilter, automatic_filters
from facefusion.media.frame_reader import frame_reader
from facefusion.media.image import ImageDetails, read_image_with_details
from facefusion.media.probe import MediaInfo, probe
from facefusion.observability.events import EventSink
from facefusion.pipeline.frames import FaceFinder, Sighting
from facefusion.processors.base import Source, Target

REFERENCE = "reference"


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
    subject: Subject,
    snapshot: Snapshot,
    analyser: FaceAnalyser,
    first_frame: int,
    events: EventSink,
    sources: Sequence[Source] = (),
) -> Callable[[], FaceFinder]:
    """What makes finders of the faces to work on in each frame, as the selector's settings say.

    Each finder follows faces on its own; whom to look for is settled once, here.

    Args:
        subject: the target.
        snapshot: the settings in force.
        analyser: finds and recognises.
        first_frame: index of the first frame that is worked on; the reference is taken there unless the user says.
        events: told where the reference comes from another frame.
        sources: the largest face among them says what filters that follow the source let through.

    Raises:
        FaceNotFoundError: the reference frame that the user chose shows no face.
        PastEndError: the target does not have the reference frame.
    """
    settings = snapshot.get(FaceSelectorSettings)
    people = TraitFilter.of(settings, _largest_traits(sources, analyser) if automatic_filters(settings) else None)
    reference: Embedding | None = None
    if settings.face_selector_mode == REFERENCE:
        explicit = snapshot.origin("reference_frame_number") != DEFAULT
        with subject.frames(max(settings.reference_frame_number, 0) if explicit else first_frame) as frames:
            try:
                reference = find_reference(frames, analyser, settings, events, explicit=explicit, people=people)
            except PastEndError as error:
                remedy = "Choose another --reference-frame-number; it counts from 0." if explicit else error.remedy
                raise PastEndError(error.fault, remedy) from error

    def for_image() -> FaceFinder:
        selector = FaceSelector(settings, reference, people)
        recognise = settings.face_selector_mode == REFERENCE

        def find(frame: Frame) -> Sighting:
            faces = analyser.faces(frame.picture, recognise=recognise, classify=not recognise)
            return Sighting(analyser.refine(frame.picture, selector.select(faces)), len(faces))

        return find

    def for_video() -> FaceFinder:
        selector, tracker = FaceSelector(settings, reference, people), build_tracker(snapshot, analyser)
        smoother = OutlineSmoother()

        def find(frame: Frame) -> Sighting:
            faces, time = tracker.observe(frame), float(frame.time)
            chosen = analyser.refine(frame.picture, selector.select(faces, time))
            return Sighting(smoother.smooth(chosen, time), len(faces))

        return find

    return for_video if subject.still is None else for_image


def _largest_traits(sources: Sequence[Source], analyser: FaceAnalyser) -> FaceTraits | None:
    """What the largest source face looks like; none without sources."""
    if not sources:
        return None
    largest = sort_faces([source.face for source in sources], "large-small")[0]
    picture = next(source.picture for source in sources if source.face is largest)
    return analyser.classify(picture, largest)
