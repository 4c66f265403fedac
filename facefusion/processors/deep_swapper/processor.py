"""The deep swapper: each face replaced by the one that a model was trained on. It needs no source."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from facefusion.catalogue.card import ModelCard
from facefusion.catalogue.families import family_of
from facefusion.core.graph import SignedGraph
from facefusion.core.values import Face, Frame, Picture, Size
from facefusion.faces.aligned import AlignedFace, align, rounds
from facefusion.faces.mask.base import OWN_FACE_MASKS
from facefusion.faces.mask.masker import FaceMasker
from facefusion.observability.events import Notice
from facefusion.processors.base import ProcessorKind, Scene, Workshop, always
from facefusion.processors.deep_swapper.network import TEMPLATE, DeepFace
from facefusion.processors.deep_swapper.settings import DeepSwapperSettings
from facefusion.provenance.records import SourceType
from facefusion.vision.colour_match import match_colours

FAMILIES: Mapping[str, Callable[[ModelCard, SignedGraph, float], DeepFace]] = {
    "dfm": DeepFace,
}
"""Every family by the name that model cards give it."""

WHOLLY = 100
"""Percent."""


class DeepSwapper:
    """Puts the model's person in the place of every face that it is given."""

    name = "deep_swapper"

    def __init__(self, network: DeepFace, masker: FaceMasker) -> None:
        self._network = network
        self._masker = masker

    def output_size(self, size: Size) -> Size:
        """Same as the input."""
        return size

    def observe(self, frame: Frame, faces: Sequence[Face]) -> None:
        """Nothing to learn from earlier frames."""

    def process(self, scenes: Sequence[Scene]) -> list[Picture]:
        """Replace every face in place. The result is that of one after another."""
        side = self._network.side
        aligned = [[align(scene.picture, face, TEMPLATE, side) for face in scene.faces] for scene in scenes]
        for places in rounds(aligned):
            self._replace([aligned[place.picture][place.face] for place in places])
        return [scene.picture for scene in scenes]

    def afresh(self) -> DeepSwapper:
        """Itself: nothing is kept from frame to frame."""
        return self

    def _replace(self, faces: Sequence[AlignedFace]) -> None:
        """Replace faces whose crops do not overlap."""
        old = [face.cut() for face in faces]
        drawn = self._network.draw([crop.pixels for crop in old])
        new = [match_colours(one.pixels, crop.pixels) for one, crop in zip(drawn, old, strict=True)]
        before = self._masker.before_each(old)
        after = self._masker.after_each([crop.showing(pixels) for crop, pixels in zip(old, new, strict=True)])
        for face, one, pixels, *masks in zip(faces, drawn, new, before, after, strict=True):
            face.paste(pixels, np.minimum.reduce([one.mask, *masks]))


def _models(settings: DeepSwapperSettings) -> Mapping[str, str]:
    return {"deep_swapper": settings.deep_swapper_model}


def _build(workshop: Workshop) -> DeepSwapper:
    card = workshop.cards["deep_swapper"]
    morph = workshop.settings.deep_swapper_morph
    network = family_of(card, FAMILIES)(card, workshop.runner(card), morph / WHOLLY)
    if morph != WHOLLY and not network.morphs:
        workshop.events.emit(
            Notice(f"The model {card.name} knows no morph: deep_swapper_morph = {morph} does nothing.")
        )
    return DeepSwapper(network, workshop.masker)


KIND = ProcessorKind(build=_build, models=_models, makes=SourceType.COMPOSITE, masks=always(OWN_FACE_MASKS))
