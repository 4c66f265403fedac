"""What networks are told of the person who is put in: an identity, or a picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from facefusion.catalogue.card import ModelCard
from facefusion.core.errors import FaceFusionError, ModelError
from facefusion.core.values import Embedding, Face, Picture, Pixels, Size, Tensor
from facefusion.faces.landmark.points import aligned_points
from facefusion.faces.normalisation import PLAIN
from facefusion.faces.recognise.arcface import ArcFace
from facefusion.faces.recognise.base import IdentityReading, mean_embedding
from facefusion.observability.events import Notice
from facefusion.processors.base import Scene, Source, Workshop, people
from facefusion.processors.face_swapper.families.crossface import CrossFace
from facefusion.vision.geometry import fit_template

Code: TypeAlias = Callable[[IdentityReading], Embedding]
"""From an identity to the (n,) values that a network was trained to read it from."""

BALANCED = 0.5
"""The weight at which the source alone counts."""

REACH = 0.35
"""Share of the target's identity at weight 0; at weight 1 as much is taken away."""


class IdentitySource:
    """Tells a network an identity: the source's, mixed with the target's as the weight asks for.

    A :class:`~facefusion.processors.face_swapper.families.network.SourceInput`. With the share a = 0.35 - 0.7 weight,
    the network gets ``(1 - a) code(source) + a code(target)``. At weight 0.5 that is the source alone, and no target
    is recognised.

    Args:
        recogniser: whose identities the network knows.
        code: as the network knows them.
        weight: the option ``face_swapper_weight``, 0..1.
    """

    def __init__(self, recogniser: ArcFace, code: Code, weight: float) -> None:
        self._recogniser = recogniser
        self._code = code
        self._share = np.float32(REACH - 2 * REACH * weight)
        self._known: Tensor | None = None
        """(people, n)."""

    def prepare(self, sources: Sequence[Source]) -> None:
        """Learn the identity that the photos of each person agree on.

        Raises:
            ModelError: a graph cannot be loaded.
        """
        self._known = np.stack([self._code(self._identity(photos)) for photos in people(sources)])

    def of(self, scenes: Sequence[Scene]) -> list[list[Tensor]]:
        """(n,) values for each face."""
        if self._known is None:
            raise FaceFusionError("the face swapper has no source face yet", "Call prepare() first.")
        sources = [[self._known[face.source] for face in scene.faces] for scene in scenes]
        if not self._share:
            return sources
        readings = self._read([(scene.picture, face) for scene in scenes for face in scene.faces])
        targets = map(self._code, readings)
        return [[source * (1 - self._share) + next(targets) * self._share for source in some] for some in sources]

    def _identity(self, photos: Sequence[Source]) -> IdentityReading:
        return mean_identity(self._read([(photo.picture, photo.face) for photo in photos]))

    def _read(self, faces: Sequence[tuple[Picture, Face]]) -> list[IdentityReading]:
        return self._recogniser.read_each([(picture, aligned_points(face)) for picture, face in faces])


class PictureSource:
    """Tells a network what a person looks like: the face of their first photo.

    A :class:`~facefusion.processors.face_swapper.families.network.SourceInput`.

    Args:
        template: on which the face lies.
        side: of the picture, in pixels.
    """

    def __init__(self, template: str, side: int) -> None:
        self._template = template
        self._side = side
        self._known: Tensor | None = None
        """(people, 3, side, side)."""

    def prepare(self, sources: Sequence[Source]) -> None:
        """Cut the faces out."""
        self._known = np.concatenate([PLAIN.encode(self._crop(photos[0])[None]) for photos in people(sources)])

    def of(self, scenes: Sequence[Scene]) -> list[list[Tensor]]:
        """(3, side, side) for each face, red first, 0..1."""
        if self._known is None:
            raise FaceFusionError("the face swapper has no source face yet", "Call prepare() first.")
        return [[self._known[face.source] for face in scene.faces] for scene in scenes]

    def _crop(self, photo: Source) -> Pixels:
        frame_to_crop = fit_template(aligned_points(photo.face), self._template, self._side)
        return photo.picture.warp(frame_to_crop, Size(self._side, self._side))


def mean_identity(identities: Sequence[IdentityReading]) -> IdentityReading:
    """What several pictures of one person agree on: the mean of both forms, the unit one brought back to length 1.

    Raises:
        ValueError: there is none.
        InferenceError: they cancel out.
    """
    if not identities:
        raise ValueError("there is no mean of no identities")
    raw = np.stack([identity.raw for identity in identities]).mean(axis=0)
    return IdentityReading(raw, mean_embedding([identity.unit for identity in identities]))


def identity_source(workshop: Workshop, code: Code) -> IdentitySource:
    """For the recogniser that the chosen model names among its companions.

    Raises:
        ModelError: it names none, or its graph does not fit.
    """
    card = companion(workshop, "face_recognizer")
    return IdentitySource(ArcFace(card, workshop.runner(card)), code, workshop.settings.face_swapper_weight)


def picture_source(workshop: Workshop, template: str, side: int) -> PictureSource:
    """For the chosen model, which no weight means anything to; said where the user asks for one."""
    weight: float = workshop.settings.face_swapper_weight
    if weight != BALANCED:
        name = workshop.cards["face_swapper"].name
        workshop.events.emit(Notice(f"The model {name} knows no weight: face_swapper_weight = {weight} does nothing."))
    return PictureSource(template, side)


def converter(workshop: Workshop) -> CrossFace:
    """The one that the chosen model names among its companions.

    Raises:
        ModelError: it names none, or its graph does not fit.
    """
    card = companion(workshop, "identity_converter")
    return CrossFace(card, workshop.runner(card))


def companion(workshop: Workshop, kind: str) -> ModelCard:
    """The one model of ``kind`` that the chosen swapper runs beside its own.

    Raises:
        ModelError: it names none, or more than one.
    """
    card = workshop.cards["face_swapper"]
    found = [workshop.companions[name] for name in card.companions if workshop.companions[name].kind == kind]
    if len(found) == 1:
        return found[0]
    raise ModelError(
        f"Model {card.name}: {len(found)} of its companions are of the kind {kind} in the catalogue",
        "It must be one.",
    )
