"""Faces laid onto a template, and which of them, of one picture or several, can be worked on at once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple, Self

from facefusion.catalogue.card import ModelCard
from facefusion.core.errors import ModelError
from facefusion.core.graph import in_runs
from facefusion.core.values import Affine, Face, Mask, Picture, Pixels, Region, Size
from facefusion.faces.landmark.points import aligned_points
from facefusion.faces.mask.base import FaceCrop
from facefusion.vision.geometry import FACE_TEMPLATES, fit_template, invert, scale_of
from facefusion.vision.warp import image_of

CHROMA_STEP = 2
"""Most luma samples per chroma sample, across and down."""


@dataclass(frozen=True, slots=True)
class AlignedFace:
    """A face in a picture and where its crop lies."""

    picture: Picture
    face: Face
    side: int
    """Of the crop, in pixels."""
    frame_to_crop: Affine
    region: Region
    """Of the frame: all that the crop is made of and that a paste of it may reach. It may go beyond the frame."""

    @classmethod
    def lay(cls, picture: Picture, face: Face, frame_to_crop: Affine, side: int) -> Self:
        """A face whose crop of ``side`` x ``side`` pixels lies as a map says."""
        # Around the crop lie what its border pixels are averaged from, and chroma samples that it shares with others.
        margin = CHROMA_STEP * (2 + math.ceil(2 / scale_of(frame_to_crop)))
        region = image_of(invert(frame_to_crop), Region(0, 0, side, side), margin)
        return cls(picture, face, side, frame_to_crop, region)

    def cut(self) -> FaceCrop:
        """The crop as the picture is now, with fractions of a level where the picture has any."""
        size, deep = Size(self.side, self.side), self.picture.bit_depth > 8
        pixels = self.picture.warp(self.frame_to_crop, size, as_float=deep)
        return FaceCrop(pixels, self.face, self.frame_to_crop, self.picture)

    def paste(self, pixels: Pixels, mask: Mask) -> None:
        """Blend another crop into the picture where ``mask`` is above 0."""
        self.picture.paste(pixels, mask, self.frame_to_crop)


class Place(NamedTuple):
    """Which face of which picture."""

    picture: int
    face: int


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


def align(picture: Picture, face: Face, template: str, side: int) -> AlignedFace:
    """Lay a face onto a template.

    Args:
        picture: that shows it.
        face: in the picture.
        template: see :data:`~facefusion.vision.geometry.FACE_TEMPLATES`.
        side: of the crop, in pixels.
    """
    return AlignedFace.lay(picture, face, fit_template(aligned_points(face), template, side), side)


def rounds(pictures: Sequence[Sequence[AlignedFace]]) -> Iterator[Sequence[Place]]:
    """All faces of several pictures, in groups to be worked on at once.

    Within a group no crop of a picture overlaps another, and the faces of a picture keep their order. So cutting out a
    whole group before the first of it is pasted back gives the same pictures as one face after another.

    Args:
        pictures: the faces of each.

    Yields:
        As many places as may go through a graph together.
    """
    side = max((face.side for faces in pictures for face in faces), default=1)
    for together in zip_longest(*map(_apart, pictures), fillvalue=()):
        places = [Place(number, face) for number, faces in enumerate(together) for face in faces]
        yield from in_runs(places, side, side)


def _apart(faces: Sequence[AlignedFace]) -> Iterator[Sequence[int]]:
    """The numbers of one picture's faces in order, in groups as large as can be within which no crop overlaps."""
    group: list[int] = []
    for number, face in enumerate(faces):
        if any(_overlap(face.region, faces[other].region) for other in group):
            yield group
            group = []
        group.append(number)
    if group:
        yield group


def _overlap(first: Region, second: Region) -> bool:
    return (
        first.left < second.right
        and second.left < first.right
        and first.top < second.bottom
        and second.top < first.bottom
    )
