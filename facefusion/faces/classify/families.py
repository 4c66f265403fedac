"""The families of classifiers, one line each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from facefusion.catalogue.card import ModelCard
from facefusion.catalogue.families import family_of
from facefusion.core.graph import TypedGraph
from facefusion.faces.bench import Bench
from facefusion.faces.classify.base import FaceClassifier
from facefusion.faces.classify.fairface import FairFace

FACE_CLASSIFIERS: Mapping[str, Callable[[ModelCard, TypedGraph], FaceClassifier]] = {
    "fairface": FairFace,
}


def build_classifier(card: ModelCard, bench: Bench) -> FaceClassifier:
    """The classifier of an entry.

    Raises:
        ModelError: its family is not known, or its graph does not fit that.
    """
    return family_of(card, FACE_CLASSIFIERS)(card, bench.runner(card))
