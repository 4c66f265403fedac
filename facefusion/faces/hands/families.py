"""The families of networks that find hands, one line each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from facefusion.catalogue.card import ModelCard
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
        HAND_DETECTORS[detector.family](detector, bench.runner(detector)),
        HAND_LANDMARKERS[landmarker.family](landmarker, bench.runner(landmarker)),
    )
