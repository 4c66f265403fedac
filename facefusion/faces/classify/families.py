"""The families of classifiers, one line each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from facefusion.catalogue.card import ModelCard
from facefusion.core.graph import TypedGraph
from facefusion.faces.classify.base import FaceClassifier
from facefusion.faces.classify.fairface import FairFace

FACE_CLASSIFIERS: Mapping[str, Callable[[ModelCard, TypedGraph], FaceClassifier]] = {
    "fairface": FairFace,
}
