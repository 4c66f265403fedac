"""The face enhancer: hands the chosen faces of a frame to the family of the chosen model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from facefusion.catalogue.card import ModelCard
from facefusion.catalogue.families import family_of
from facefusion.core.values import Face, Frame, Picture, Size
from facefusion.faces.mask.base import SEAM_MASKS
from facefusion.observability.events import Notice
from facefusion.processors.base import ProcessorKind, Scene, Workshop, always
from facefusion.processors.face_enhancer.families.base import EnhancerFamily
from facefusion.processors.face_enhancer.families.restoration import Restoration
from facefusion.processors.face_enhancer.families.super_resolution import EnlargedFaces
from facefusion.processors.face_enhancer.settings import FaceEnhancerSettings
from facefusion.processors.super_resolution import SuperResolution
from facefusion.provenance.records import SourceType

PERCENT = 100


def _restoration(card: ModelCard, workshop: Workshop) -> Restoration:
    settings: FaceEnhancerSettings = workshop.settings
    weight, blend = settings.face_enhancer_weight, settings.face_enhancer_blend / PERCENT
    return Restoration(card, workshop.runner(card), weight, workshop.masker.before_each, blend)


def _enlarged(card: ModelCard, workshop: Workshop) -> EnlargedFaces:
    network = SuperResolution(card, workshop.runner(card))
    return EnlargedFaces(network, workshop.masker.before_each, workshop.settings.face_enhancer_blend / PERCENT)


FAMILIES: Mapping[str, Callable[[ModelCard, Workshop], EnhancerFamily]] = {
    "restoration": _restoration,
    "waifu2x": _enlarged,
}
"""Every family by the name that model cards give it."""


class FaceEnhancer:
    """Enhances every face that it is given."""

    name = "face_enhancer"

    def __init__(self, family: EnhancerFamily) -> None:
        self._family = family

    def output_size(self, size: Size) -> Size:
        """Same as the input."""
        return size

    def observe(self, frame: Frame, faces: Sequence[Face]) -> None:
        """Nothing to learn from earlier frames."""

    def process(self, scenes: Sequence[Scene]) -> list[Picture]:
        """Enhance every face in place."""
        self._family.enhance(scenes)
        return [scene.picture for scene in scenes]

    def afresh(self) -> FaceEnhancer:
        """Itself: nothing is kept from frame to frame."""
        return self


def _models(settings: FaceEnhancerSettings) -> Mapping[str, str]:
    return {"face_enhancer": settings.face_enhancer_model}


def _build(workshop: Workshop) -> FaceEnhancer:
    card = workshop.cards["face_enhancer"]
    family = family_of(card, FAMILIES)(card, workshop)
    weight = workshop.settings.face_enhancer_weight
    if weight != FaceEnhancerSettings().face_enhancer_weight and not family.weighted:
        workshop.events.emit(
            Notice(f"The model {card.name} knows no weight: face_enhancer_weight = {weight} does nothing.")
        )
    return FaceEnhancer(family)


KIND = ProcessorKind(build=_build, models=_models, makes=SourceType.ENHANCED, masks=always(SEAM_MASKS))
