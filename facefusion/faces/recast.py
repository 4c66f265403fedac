"""Choosing the faces of which a map says who becomes whom."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from facefusion.core.errors import FaceNotFoundError
from facefusion.core.values import Embedding, Face, Frame
from facefusion.core.wording import counted
from facefusion.faces.analyse import FaceAnalyser
from facefusion.faces.recognise.base import distance
from facefusion.faces.selection import LOYALTY, find_reference_frame, meant, sort_faces
from facefusion.faces.settings import FaceSelectorSettings
from facefusion.faces.traits import EVERYBODY, TraitFilter
from facefusion.observability.events import EventSink, Notice


class Reference(NamedTuple):
    """A person of the target."""

    identity: Embedding
    person: int
    """The number of who is put in their place."""


class RecastSelector:
    """Gives every face that is near enough to a reference, and says who is put in. Frames in order, one thread.

    A face belongs to the nearest reference. One that is followed stays with its reference as long as that is near
    enough and no other is clearly nearer, both by :data:`~facefusion.faces.selection.LOYALTY`.

    Args:
        settings: order and limit.
        references: at least one.
    """

    def __init__(self, settings: FaceSelectorSettings, references: Sequence[Reference]) -> None:
        self._settings = settings
        self._references = references
        self._held: dict[int, int] = {}
        """For each track that was accepted, its reference."""

    def select(self, faces: Sequence[Face], time: float = 0.0) -> tuple[Face, ...]:
        """The faces to work on, each with the number of the person who is put in.

        Args:
            faces: with embeddings; with tracks, in a video.
            time: does not matter.
        """
        ordered = sort_faces(faces, self._settings.face_selector_order)
        found = ((face, self._reference_of(face)) for face in ordered)
        return tuple(
            replace(face, source=self._references[number].person) for face, number in found if number is not None
        )

    def _reference_of(self, face: Face) -> int | None:
        if face.embedding is None:
            return None
        gaps = [distance(face.embedding, reference.identity) for reference in self._references]
        limit, nearest = self._settings.reference_face_distance, int(np.argmin(gaps))
        found = nearest if gaps[nearest] < limit else None
        if face.track is None:
            return found
        held = self._held.pop(face.track, None)
        if held is not None and gaps[held] < min(limit, gaps[nearest]) + LOYALTY:
            found = held
        if found is not None:
            self._held[face.track] = found
        return found


def find_numbered_faces(
    frames: Iterable[Frame],
    analyser: FaceAnalyser,
    settings: FaceSelectorSettings,
    events: EventSink,
    *,
    explicit: bool,
    people: TraitFilter = EVERYBODY,
) -> tuple[Face, ...]:
    """The faces that a map names by number: those of the reference frame, in the order that the settings say.

    Args:
        frames: the target from the reference frame on. No more are taken than needed.
        analyser: finds and recognises.
        settings: the map, and the order.
        events: told how far the search is, and where another frame than the first is used.
        explicit: whether the user chose the frame. If so no other will do; if not, the first that shows enough does.
        people: who is counted.

    Raises:
        FaceNotFoundError: there are fewer faces than the map names.
    """
    least = settings.mapping.faces_needed
    seen = find_reference_frame(frames, analyser, events, people, least=least, explicit=explicit)
    highest = f"--face-map names face {least - 1}, counted from 0"
    if len(seen.faces) < least:
        shown = counted(len(seen.faces), "face")
        chosen = f"Frame {seen.index} of the target, chosen with --reference-frame-number, shows {shown}"
        none = f"No frame of the target from {seen.first} on shows {counted(least, 'face')}"
        raise FaceNotFoundError(
            f"{chosen if explicit else none}{meant(people)}, and {highest}",
            "Choose another frame with --reference-frame-number, or name a picture of the person in place of a number.",
        )
    if seen.index != seen.first:
        events.emit(
            Notice(f"Frame {seen.first} shows too few faces, as {highest}; they are counted in frame {seen.index}.")
        )
    return sort_faces(seen.faces, settings.face_selector_order)


def lookalikes(references: Sequence[Reference], limit: float) -> tuple[tuple[int, int], ...]:
    """Pairs of references that stand for different sources, and are so alike that each might be taken for the other."""
    return tuple(
        (first, second)
        for second, one in enumerate(references)
        for first, other in enumerate(references[:second])
        if one.person != other.person and distance(one.identity, other.identity) < limit
    )
