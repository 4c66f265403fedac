"""The families of landmarkers, one line each, and how they are put together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from facefusion.catalogue.card import ModelCard
from facefusion.catalogue.families import family_of
from facefusion.core.errors import ModelError
from facefusion.core.graph import TypedGraph
from facefusion.faces.bench import Bench
from facefusion.faces.landmark.base import FaceLandmarker, OutlineReader
from facefusion.faces.landmark.estimate import OutlineEstimator
from facefusion.faces.landmark.fan import Fan
from facefusion.faces.landmark.many import ManyOutlines
from facefusion.faces.landmark.mesh import FaceMesh
from facefusion.faces.landmark.peppa_wutz import PeppaWutz
from facefusion.faces.landmark.refine import OutlineRefiner

FamilyT = TypeVar("FamilyT")

FACE_LANDMARKERS: Mapping[str, Callable[[ModelCard, TypedGraph], FaceLandmarker]] = {
    "mesh": FaceMesh,
}
"""Those that read the dense mesh, by which faces are found and followed."""

OUTLINE_READERS: Mapping[str, Callable[[ModelCard, Bench], OutlineReader]] = {
    "fan": lambda card, bench: Fan(card, bench.runner(card)),
    "many": lambda card, bench: ManyOutlines(card, [_reader(one, bench) for one in bench.beside(card)]),
    "peppa_wutz": lambda card, bench: PeppaWutz(card, bench.runner(card)),
}
"""Those that read the 68 points of faces that are known already."""

OUTLINE_ESTIMATORS: Mapping[str, Callable[[ModelCard, TypedGraph], OutlineEstimator]] = {
    "fan_68_5": OutlineEstimator,
}
"""Those that guess 68 points from five."""


def build_landmarker(card: ModelCard, bench: Bench) -> FaceLandmarker:
    """The dense landmarker of an entry: its own, or the one that it runs beside.

    Raises:
        ModelError: there is none, or its graph does not fit.
    """
    mesh, make = _nearest(card, bench, FACE_LANDMARKERS)
    return make(mesh, bench.runner(mesh))


def build_refiner(card: ModelCard, bench: Bench, minimum_confidence: float) -> OutlineRefiner | None:
    """What reads the 68 points of chosen faces as an entry says; none where it reads the mesh alone.

    Raises:
        ModelError: a graph does not fit, or the entry names no estimator.
    """
    if card.family not in OUTLINE_READERS:
        return None
    estimator, make = _nearest(card, bench, OUTLINE_ESTIMATORS)
    return OutlineRefiner(_reader(card, bench), make(estimator, bench.runner(estimator)), minimum_confidence)


def _reader(card: ModelCard, bench: Bench) -> OutlineReader:
    return family_of(card, OUTLINE_READERS)(card, bench)


def _nearest(card: ModelCard, bench: Bench, families: Mapping[str, FamilyT]) -> tuple[ModelCard, FamilyT]:
    """The entry itself or the first of its companions, and theirs, that is of one of the families."""
    for one in _kin(card, bench):
        if one.family in families:
            return one, families[one.family]
    raise ModelError(
        f"The model catalogue is wrong: {card.name} runs beside no model of the family {' or '.join(families)}"
    )


def _kin(card: ModelCard, bench: Bench) -> Iterator[ModelCard]:
    yield card
    for one in bench.beside(card):
        yield from _kin(one, bench)
