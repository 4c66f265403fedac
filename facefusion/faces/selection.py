"""Choosing the faces to work on."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Protocol

from facefusion.core.errors import FaceNotFoundError
from facefusion.core.values import Embedding, Face, Frame
from facefusion.core.wording import counted
from facefusion.faces.analyse import FaceAnalyser
from facefusion.faces.recognise.base import distance
from facefusion.faces.settings import FaceSelectorSettings
from facefusion.faces.traits import EVERYBODY, TraitFilter
from facefusion.observability.events import EventSink, Notice, StageFinished, StageProgress, StageStarted

LOYALTY = 0.05
"""How much further from the reference than the limit a face that was accepted may drift before it is dropped."""

PATIENCE = 0.5
"""Seconds for which another face must come first before mode ``one`` turns to it."""


def _area(face: Face) -> float:
    left, top, right, bottom = (float(edge) for edge in face.box)
    return (right - left) * (bottom - top)


SORT_KEYS: Mapping[str, Callable[[Face], float]] = {
    "left-right": lambda face: float(face.box[0]),
    "right-left": lambda face: -float(face.box[0]),
    "top-bottom": lambda face: float(face.box[1]),
    "bottom-top": lambda face: -float(face.box[1]),
    "small-large": _area,
    "large-small": lambda face: -_area(face),
    "best-worst": lambda face: -face.score,
    "worst-best": lambda face: face.score,
}


def sort_faces(faces: Iterable[Face], order: str) -> tuple[Face, ...]:
    """The faces in one of the eight orders; equal ones stay as they are."""
    return tuple(sorted(faces, key=SORT_KEYS[order]))


class Selector(Protocol):
    """Chooses the faces to work on. Frames in order, one thread."""

    def select(self, faces: Sequence[Face], time: float = 0.0) -> tuple[Face, ...]:
        """Those of the faces of a frame that are meant; ``time`` is the frame's, in seconds."""


class FaceSelector:
    """Chooses faces frame by frame. Frames in order, one thread; what it decided on a track it sticks to.

    Args:
        settings: mode, order and limit.
        reference: whom to look for in mode ``reference``; where there is none, nobody is chosen.
        people: whom to choose from in the other modes.
    """

    def __init__(
        self,
        settings: FaceSelectorSettings,
        reference: Embedding | None = None,
        people: TraitFilter = EVERYBODY,
    ) -> None:
        self._settings = settings
        self._people = people
        self._reference = reference
        self._accepted: set[int] = set()
        self._chosen: int | None = None
        self._rival_since: float | None = None

    def select(self, faces: Sequence[Face], time: float = 0.0) -> tuple[Face, ...]:
        """The faces to work on, of those in a frame.

        Args:
            faces: with embeddings, for mode ``reference``; with traits, where only some people are meant in the others;
                with tracks, in a video.
            time: of the frame, in seconds.
        """
        ordered = sort_faces(faces, self._settings.face_selector_order)
        meant = tuple(face for face in ordered if self._people.lets_through(face))
        match self._settings.face_selector_mode:
            case "many":
                return meant
            case "one":
                return self._one(meant, time)
            case _:
                return tuple(face for face in ordered if self._is_reference(face))

    def _one(self, ordered: Sequence[Face], time: float) -> tuple[Face, ...]:
        """The first face; of two that come first by turns, the one that was, until the other has been for a while."""
        if not ordered:
            return ()
        held = next((face for face in ordered if face.track is not None and face.track == self._chosen), None)
        if held is None or held is ordered[0]:
            self._rival_since = None
        elif self._rival_since is None:
            self._rival_since = time
        if held is None or (self._rival_since is not None and time - self._rival_since >= PATIENCE):
            held, self._rival_since = ordered[0], None
        self._chosen = held.track
        return (held,)

    def _is_reference(self, face: Face) -> bool:
        if self._reference is None or face.embedding is None:
            return False
        limit = self._settings.reference_face_distance
        if face.track in self._accepted:
            limit += LOYALTY
        near = distance(face.embedding, self._reference) < limit
        if face.track is not None:
            (self._accepted.add if near else self._accepted.discard)(face.track)
        return near


def reference_face(faces: Sequence[Face], settings: FaceSelectorSettings) -> Face:
    """The reference among the faces of one picture: by order and position, the last where there are fewer.

    A position below 0 counts from the end, as in FaceFusion; the first face where there are fewer.

    Raises:
        ValueError: there are no faces.
    """
    if not faces:
        raise ValueError("no face to choose a reference from")
    position, count = settings.reference_face_position, len(faces)
    position = max(position + count, 0) if position < 0 else min(position, count - 1)
    return sort_faces(faces, settings.face_selector_order)[position]


@dataclass(frozen=True, slots=True)
class ReferenceFrame:
    """Where a reference was looked for."""

    first: int | None
    """Index of the first frame that was looked at; none where there is none."""
    index: int | None
    """Index of the last."""
    faces: tuple[Face, ...]
    """What the last shows, with identities: enough faces, or fewer where no frame shows enough."""


def find_reference_frame(
    frames: Iterable[Frame],
    analyser: FaceAnalyser,
    events: EventSink,
    people: TraitFilter = EVERYBODY,
    *,
    least: int = 1,
    explicit: bool = False,
) -> ReferenceFrame:
    """The first frame that shows enough faces of those whom the filters let through.

    Args:
        frames: the target from the reference frame on. No more are taken than needed.
        analyser: finds and recognises.
        events: told how far the search is, where the first frame does not show enough.
        people: who counts.
        least: how many faces are enough.
        explicit: whether no other frame than the first will do.
    """
    seen = ReferenceFrame(None, None, ())
    with closing(_telling(frames, events, least)) as told:
        for frame in told:
            first = frame.index if seen.first is None else seen.first
            found: tuple[Face, ...] = ()
            if frame.index == first or len(analyser.detect(frame.picture, thorough=False)) >= least:
                found = analyser.faces(frame.picture, recognise=True, classify=people != EVERYBODY)
            seen = ReferenceFrame(first, frame.index, tuple(face for face in found if people.lets_through(face)))
            if explicit or len(seen.faces) >= least:
                break
    return seen


def _telling(frames: Iterable[Frame], events: EventSink, least: int) -> Generator[Frame]:
    """The frames. A stage of the run begins once the first one was in vain."""
    begun = False
    try:
        for frame in frames:
            yield frame
            if not begun:
                events.emit(StageStarted(f"Looking for a frame that shows {counted(least, 'face')}", unit="picture"))
                begun = True
            events.emit(StageProgress())
    finally:
        if begun:
            events.emit(StageFinished())


def find_reference(
    frames: Iterable[Frame],
    analyser: FaceAnalyser,
    settings: FaceSelectorSettings,
    events: EventSink,
    *,
    explicit: bool,
    people: TraitFilter = EVERYBODY,
) -> Embedding | None:
    """Whom mode ``reference`` looks for.

    Args:
        frames: the target from the reference frame on; an image is one frame. No more are taken than needed.
        analyser: finds and recognises.
        settings: which face of the frame it is.
        events: told how far the search is, and where another frame than the first is used.
        explicit: whether the user chose the frame. If so no other will do; if not, the first that shows a face does.
        people: whom the filters let through; the reference is one of them.

    Returns:
        The identity; none where no frame shows a face and none was asked for.

    Raises:
        FaceNotFoundError: the frame that the user chose shows no face.
    """
    seen = find_reference_frame(frames, analyser, events, people, explicit=explicit)
    if seen.faces:
        if seen.index != seen.first:
            events.emit(
                Notice(
                    f"Frame {seen.first} shows no face{meant(people)}; the reference face is taken from frame "
                    f"{seen.index}."
                )
            )
        return reference_face(seen.faces, settings).embedding
    if explicit and seen.index is not None:
        raise FaceNotFoundError(
            f"Frame {seen.index} of the target, chosen with --reference-frame-number, shows no face{meant(people)}",
            "Choose a frame that does, or work on all faces with --face-selector-mode many.",
        )
    return None


def meant(people: TraitFilter) -> str:
    """Whose faces count, as the end of a sentence; empty where everybody's do."""
    return "" if people == EVERYBODY else " that the filters of gender, age and group let through"
