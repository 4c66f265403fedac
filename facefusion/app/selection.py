"""Whom a step works on: the selector that the settings ask for, with the people it looks for found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from facefusion.app.recollection import Recollection
from facefusion.app.subject import Subject
from facefusion.config.origin import DEFAULT
from facefusion.config.state import Snapshot
from facefusion.config.values import format_value
from facefusion.core.errors import PastEndError
from facefusion.core.values import Embedding, Face, FaceTraits, Frame
from facefusion.core.wording import counted, shown
from facefusion.faces.analyse import FaceAnalyser
from facefusion.faces.face_map import REFERENCE
from facefusion.faces.recast import RecastSelector, Reference, find_numbered_faces, lookalikes
from facefusion.faces.selection import FaceSelector, Selector, find_reference, sort_faces
from facefusion.faces.settings import FaceSelectorSettings
from facefusion.faces.sources import find_source_faces
from facefusion.faces.traits import TraitFilter, automatic_filters
from facefusion.media.image import read_image
from facefusion.observability.events import Event, EventSink, Notice
from facefusion.processors.base import Source

REFERENCE_BYTES = 4 << 10
"""About what it takes to remember one person's identity."""


def face_selectors(
    subject: Subject,
    snapshot: Snapshot,
    analyser: FaceAnalyser,
    first_frame: int,
    events: EventSink,
    recollection: Recollection,
    sources: Sequence[Source] = (),
) -> Callable[[], Selector]:
    """What makes selectors, as the settings say. Each remembers tracks on its own; whom to look for is settled here.

    Args:
        subject: the target.
        snapshot: the settings in force.
        analyser: finds and recognises.
        first_frame: index of the first frame that is worked on; the reference is taken there unless the user says.
        events: told where the reference comes from another frame, and what a map makes doubtful.
        recollection: of whom earlier steps found.
        sources: the largest face among them says what filters that follow the source let through.

    Raises:
        FaceNotFoundError: a frame or a picture shows no reference.
        PastEndError: the target does not have the reference frame.
        MediaError: a picture cannot be read.
    """
    settings = snapshot.get(FaceSelectorSettings)
    people = TraitFilter.of(settings, _largest_traits(sources, analyser) if automatic_filters(settings) else None)
    explicit = snapshot.origin("reference_frame_number") != DEFAULT
    start = settings.reference_frame_number if explicit else first_frame
    if settings.face_map:
        numbered: tuple[Face, ...] = ()
        if settings.mapping.faces_needed:
            with _reference_frames(subject, start, explicit=explicit) as frames:
                numbered = find_numbered_faces(frames, analyser, settings, events, explicit=explicit, people=people)
        references = _references(settings, numbered, analyser)
        _say_what_is_doubtful(references, snapshot, events)
        return lambda: RecastSelector(settings, references)
    reference: Embedding | None = None
    if settings.by_identity:

        def look() -> tuple[Embedding | None, list[Notice]]:
            sink = _Notices(events)
            with _reference_frames(subject, start, explicit=explicit) as frames:
                found = find_reference(frames, analyser, settings, sink, explicit=explicit, people=people)
            return found, sink.notices

        what = ("reference", start, explicit, settings, people)
        reference, notices = recollection.of((subject.info.path,), what, look, lambda _: REFERENCE_BYTES)
        for notice in notices:
            events.emit(notice)
    return lambda: FaceSelector(settings, reference, people)


def nobody(subject: Subject, snapshot: Snapshot, found: int) -> str:
    """Why no face was worked on, for people: there is none, or the settings mean none of those there are.

    Args:
        subject: the target.
        snapshot: the settings in force.
        found: faces found in it, of a video in each frame anew.
    """
    same = "so the result shows what the target shows."
    if found == 0:
        return f"No face to work on was found in {subject.info.path}, {same}"
    settings = snapshot.get(FaceSelectorSettings)
    values = (
        (spec.name, format_value(spec, snapshot.value(spec)))
        for spec in map(snapshot.schema.__getitem__, settings.narrowing)
    )
    meant = ", ".join(f"{name} = {shown(value)}" for name, value in values)
    every = "" if subject.still is not None else ", counted anew in each frame"
    return f"Of {counted(found, 'face')} found in {subject.info.path}{every}, none is meant by {meant}, {same}"


class _Notices:
    """Passes on how far a search is, and keeps what it has to say, which is true of a later step too."""

    def __init__(self, events: EventSink) -> None:
        self._events = events
        self.notices: list[Notice] = []

    def emit(self, event: Event) -> None:
        if isinstance(event, Notice):
            self.notices.append(event)
        else:
            self._events.emit(event)


@contextmanager
def _reference_frames(subject: Subject, start: int, *, explicit: bool) -> Iterator[Iterable[Frame]]:
    with subject.frames(start) as frames:
        try:
            yield frames
        except PastEndError as error:
            remedy = "Choose another --reference-frame-number; it counts from 0." if explicit else error.remedy
            raise PastEndError(error.fault, remedy) from error


def _references(
    settings: FaceSelectorSettings, numbered: Sequence[Face], analyser: FaceAnalyser
) -> tuple[Reference, ...]:
    """The people that the map names, in its order."""
    mapping = settings.mapping
    pictures = [path for role, path in mapping.files if role == REFERENCE]
    photos = find_source_faces(((str(path), read_image(path)) for path in pictures), analyser, REFERENCE)
    shown: dict[Path | int, Face] = dict(enumerate(numbered))
    shown |= dict(zip(pictures, (photo.face for photo in photos), strict=True))
    who = mapping.people
    found = ((shown[item.reference].embedding, who.index(item.sources)) for item in mapping.items)
    return tuple(Reference(identity, person) for identity, person in found if identity is not None)


def _say_what_is_doubtful(references: Sequence[Reference], snapshot: Snapshot, events: EventSink) -> None:
    settings = snapshot.get(FaceSelectorSettings)
    if snapshot.origin("face_selector_mode").given and settings.face_selector_mode != REFERENCE:
        mode = f"face_selector_mode = {settings.face_selector_mode}"
        events.emit(Notice(f"{mode} has no effect: --face-map says who is worked on.", warning=True))
    items = settings.mapping.items
    for first, second in lookalikes(references, settings.reference_face_distance):
        alike = f"The references {items[first].name} and {items[second].name} of --face-map look alike"
        events.emit(Notice(f"{alike}, so their sources may be mixed up: do they show one person?", warning=True))


def _largest_traits(sources: Sequence[Source], analyser: FaceAnalyser) -> FaceTraits | None:
    """What the largest source face looks like; none without sources."""
    if not sources:
        return None
    largest = sort_faces([source.face for source in sources], "large-small")[0]
    picture = next(source.picture for source in sources if source.face is largest)
    return analyser.classify(picture, largest)
