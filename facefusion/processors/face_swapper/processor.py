"""The face swapper: hands each chosen face to the family of the chosen model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from facefusion.catalogue.families import family_of
from facefusion.core.values import Face, Frame, Picture, Size
from facefusion.faces.mask.base import SWAP_MASKS
from facefusion.processors.base import ProcessorKind, Scene, Workshop, always
from facefusion.processors.face_swapper.families.base import SwapperFamily
from facefusion.processors.face_swapper.families.blendswap import blendswap
from facefusion.processors.face_swapper.families.ghost import ghost
from facefusion.processors.face_swapper.families.hififace import hififace
from facefusion.processors.face_swapper.families.hyperswap import hyperswap
from facefusion.processors.face_swapper.families.inswapper import inswapper
from facefusion.processors.face_swapper.families.mesh.family import MeshFamily
from facefusion.processors.face_swapper.families.simswap import simswap
from facefusion.processors.face_swapper.families.uniface import uniface
from facefusion.processors.face_swapper.settings import FaceSwapperSettings
from facefusion.provenance.records import SourceType

FAMILIES: Mapping[str, Callable[[Workshop], SwapperFamily]] = {
    "blendswap": blendswap,
    "ghost": ghost,
    "hififace": hififace,
    "hyperswap": hyperswap,
    "inswapper": inswapper,
    "mesh": lambda workshop: MeshFamily(workshop.settings.face_swapper_weight, workshop.masker, workshop.remembered),
    "simswap": simswap,
    "uniface": uniface,
}
"""Every family by the name that model cards give it.

Each takes the graph of its own model before those of the models beside it: so it can be asked whether a graph fits
where those are not at hand.
"""


class FaceSwapper:
    """Swaps every face that it is given."""

    name = "face_swapper"

    def __init__(self, family: SwapperFamily) -> None:
        self._family = family

    def output_size(self, size: Size) -> Size:
        """Same as the input."""
        return size

    def observe(self, frame: Frame, faces: Sequence[Face]) -> tuple[object, ...]:
        """One observation per face."""
        return tuple(self._family.observe(frame, face) for face in faces)

    def process(self, scenes: Sequence[Scene]) -> list[Picture]:
        """Swap every face in place."""
        for scene in scenes:
            if not isinstance(scene.observation, tuple) or len(scene.observation) != len(scene.faces):
                raise TypeError("expected what observe() gave for these faces")
        self._family.swap(scenes)
        return [scene.picture for scene in scenes]

    def afresh(self) -> FaceSwapper:
        """The same swapper without tracks."""
        return FaceSwapper(self._family.afresh())


def _models(settings: FaceSwapperSettings) -> Mapping[str, str]:
    return {"face_swapper": settings.face_swapper_model}


def _build(workshop: Workshop) -> FaceSwapper:
    card = workshop.cards["face_swapper"]
    family = family_of(card, FAMILIES)(workshop)
    if workshop.sources:
        family.prepare(workshop.sources)
    return FaceSwapper(family)


KIND = ProcessorKind(
    build=_build, models=_models, makes=SourceType.COMPOSITE, needs_sources=True, masks=always(SWAP_MASKS)
)
