"""The families of networks that find hands, one line each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from facefusion.catalogue.card import ModelCard
from facefusion.catalogue.families import family_of
from facefusion.core.graph import TypedGraph
from facefusion.faces.bench import Bench
from facefusion.faces.hands.find import HandFinder
from facefusion.faces.hands.joints import HandJoints
from facefusion.faces.hands.palm import PalmDetector

HAND_DETECTORS: Mapping[str, Callable[[ModelCard, TypedGraph], PalmDetector]] = {"palm": PalmDetector}
HAND_LANDMARKERS: Mapping[str, Callable[[ModelCard, TypedGraph], HandJoints]] = {"joints": HandJoints}


def build_finder(detector: ModelCard, landmarker: ModelCard, bench: Bench) -> HandFinder:
    """What finds hands with two models.

    Raises:
        ModelError: the graph of one does not fit its family.
    """
    return HandFinder(
        family_of(detector, HAND_DETECTORS)(detector, bench.runner(detector)),
        family_of(landmarker, HAND_LANDMARKERS)(landmarker, bench.runner(landmarker)),
    )
