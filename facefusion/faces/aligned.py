"""Faces laid onto a template, and which of them can be worked on at once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from facefusion.catalogue.card import ModelCard
from facefusion.core.errors import ModelError
from facefusion.core.values import Affine, Face, Region
from facefusion.faces.landmark.points import aligned_points
from facefusion.vision.geometry import FACE_TEMPLATES, fit_template, invert, scale_of
from facefusion.vision.warp import image_of

CHROMA_STEP = 2
"""Most luma samples per chroma sample, across and down."""


@dataclass(frozen=True, slots=True)
class AlignedFace:
    """A face and where its crop lies."""

    face: Face
    frame_to_crop: Affine
    region: Region
    """Of the frame: all that the crop is made of and that a paste of it may reach. It may go beyond the frame."""


def template_of(card: ModelCard) -> str:
    """The template that a model's faces are laid onto, as its entry says.

    Raises:
        ModelError: it names none, or one that is not known.
    """
    name = card.numbers.get("template")
    if isinstance(name, str) and name in FACE_TEMPLATES:
        return name
    raise ModelError(
        f"Model {card.name}: template is {name!r} in the catalogue", f"It must be one of {', '.join(FACE_TEMPLATES)}."
    )


def align(face: Face, template: str, side: int) -> AlignedFace:
    """Lay a face onto a template.

    Args:
        face: in the frame.
        template: see :data:`~facefusion.vision.geometry.FACE_TEMPLATES`.
        side: of the crop, in pixels.
    """
    frame_to_crop = fit_template(aligned_points(face), template, side)
    # Around the crop lie what its border pixels are averaged from, and chroma samples that it shares with others.
    margin = CHROMA_STEP * (2 + math.ceil(2 / scale_of(frame_to_crop)))
    return AlignedFace(face, frame_to_crop, image_of(invert(frame_to_crop), Region(0, 0, side, side), margin))


def apart(faces: Sequence[AlignedFace]) -> Iterator[list[AlignedFace]]:
    """The same faces in order, in groups as large as can be within which no crop overlaps another.

    Cutting out a whole group before the first is pasted back gives the same picture as one face after another.
    """
    group: list[AlignedFace] = []
    for face in faces:
        if any(_overlap(face.region, other.region) for other in group):
            yield group
            group = []
        group.append(face)
    if group:
        yield group


def _overlap(first: Region, second: Region) -> bool:
    return (
        first.left < second.right
        and second.left < first.right
        and first.top < second.bottom
        and second.top < first.bottom
    )
