"""Swapping by a network that gives a whole new crop of the face: what all such families share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self

import numpy as np

from facefusion.core.graph import Shape
from facefusion.core.values import Face, Frame, Tensor
from facefusion.faces.aligned import AlignedFace, align, rounds
from facefusion.faces.mask.masker import FaceMasker
from facefusion.faces.normalisation import Normalisation
from facefusion.processors.base import Scene, Source, Workshop
from facefusion.processors.face_swapper.families.crops import CropNetwork


class SourceInput(Protocol):
    """What a network is told of the people who are put in. Thread-safe once prepared."""

    def prepare(self, sources: Sequence[Source]) -> None:
        """Learn the people of the sources from their photos. Called once, before all else."""

    def of(self, scenes: Sequence[Scene]) -> Sequence[Sequence[Tensor]]:
        """What goes into each face of pictures that nothing has been pasted into; not to be written to.

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

    def swap(self, scenes: Sequence[Scene]) -> None:
        """Change faces in place. The result is that of one after another; those that lie apart go in one run."""
        template, side = self._network.template, self._network.side
        sources = self._source.of(scenes)
        aligned = [[align(scene.picture, face, template, side) for face in scene.faces] for scene in scenes]
        for places in rounds(aligned):
            self._swap_apart(
                [aligned[place.picture][place.face] for place in places],
                np.stack([sources[place.picture][place.face] for place in places]),
            )

    def afresh(self) -> Self:
        """Itself: nothing is kept from frame to frame."""
        return self

    def _swap_apart(self, faces: Sequence[AlignedFace], sources: Tensor) -> None:
        """Swap faces whose crops do not overlap."""
        old = [face.cut() for face in faces]
        new = self._network.run([crop.pixels for crop in old], sources)
        before = self._masker.before_each(old)
        after = self._masker.after_each([crop.showing(pixels) for crop, pixels in zip(old, new, strict=True)])
        for face, pixels, *masks in zip(faces, new, before, after, strict=True):
            face.paste(pixels, np.minimum.reduce(masks))


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
