"""Swapping by a network that gives a whole new crop of the face: what all such families share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self

import numpy as np

from facefusion.core.graph import Shape
from facefusion.core.values import Face, Frame, Picture, Size, Tensor
from facefusion.faces.aligned import AlignedFace, align, apart
from facefusion.faces.mask.base import FaceCrop
from facefusion.faces.mask.masker import FaceMasker
from facefusion.faces.normalisation import Normalisation
from facefusion.processors.base import Source, Workshop
from facefusion.processors.face_swapper.families.crops import CropNetwork


class SourceInput(Protocol):
    """What a network is told of the people who are put in. Thread-safe once prepared."""

    def prepare(self, sources: Sequence[Source]) -> None:
        """Learn the people of the sources from their photos. Called once, before all else."""

    def of(self, picture: Picture, faces: Sequence[Face]) -> Tensor:
        """What goes into each face of a picture that nothing has been pasted into, by the first dimension.

        A face gets the person whose number it carries as its ``source``.
        """


class NetworkSwapper:
    """Implements :class:`~facefusion.processors.face_swapper.families.base.SwapperFamily`; keeps nothing over frames.

    Args:
        network: gives a face's new crop.
        source: what it is told of the people.
        masker: where the new crop is shown.
    """

    def __init__(self, network: CropNetwork, source: SourceInput, masker: FaceMasker) -> None:
        self._network = network
        self._source = source
        self._masker = masker

    def prepare(self, sources: Sequence[Source]) -> None:
        """Learn the people.

        Raises:
            ModelError: a graph that this needs cannot be loaded.
        """
        self._source.prepare(sources)

    def observe(self, frame: Frame, face: Face) -> None:
        """Nothing to learn from earlier frames."""

    def swap(self, picture: Picture, faces: Sequence[Face], observations: Sequence[object]) -> None:
        """Change faces in place. The result is that of one after another; those that lie apart go in one run."""
        if not faces:
            return
        sources = self._source.of(picture, faces)
        done = 0
        aligned = [align(face, self._network.template, self._network.side) for face in faces]
        for group in apart(aligned):
            self._swap_apart(picture, group, sources[done : done + len(group)])
            done += len(group)

    def afresh(self) -> Self:
        """Itself: nothing is kept from frame to frame."""
        return self

    def _swap_apart(self, picture: Picture, aligned: Sequence[AlignedFace], sources: Tensor) -> None:
        """Swap faces whose crops do not overlap."""
        size, deep = Size(self._network.side, self._network.side), picture.bit_depth > 8
        old = [picture.warp(one.frame_to_crop, size, as_float=deep) for one in aligned]
        new = self._network.run(old, sources)
        crops = [
            FaceCrop(pixels, one.face, one.frame_to_crop, picture) for pixels, one in zip(old, aligned, strict=True)
        ]
        before = self._masker.before_each(crops)
        after = self._masker.after_each([crop.showing(pixels) for crop, pixels in zip(crops, new, strict=True)])
        for one, crop, *masks in zip(aligned, new, before, after, strict=True):
            picture.paste(crop, np.minimum.reduce(masks), one.frame_to_crop)


def network(workshop: Workshop, source: Shape, *, gives: Normalisation | None = None) -> CropNetwork:
    """The network of the chosen model, at the size that the user asks for.

    Args:
        workshop: what the swapper is built from.
        source: see :class:`~facefusion.processors.face_swapper.families.crops.CropNetwork`.
        gives: see there.

    Raises:
        ModelError: see there.
        UsageError: see there.
    """
    card = workshop.cards["face_swapper"]
    wanted: str | None = workshop.settings.face_swapper_pixel_boost
    boost = None if wanted is None else int(wanted.split("x")[0])
    return CropNetwork(card, workshop.runner(card), source, gives=gives, boost=boost)
