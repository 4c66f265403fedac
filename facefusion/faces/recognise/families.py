"""The families of recognisers, one line each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from facefusion.catalogue.card import ModelCard
from facefusion.catalogue.families import family_of
from facefusion.core.graph import TypedGraph
from facefusion.faces.bench import Bench
from facefusion.faces.recognise.arcface import ArcFace
from facefusion.faces.recognise.base import FaceRecogniser
from facefusion.faces.recognise.sface import SFace

FACE_RECOGNISERS: Mapping[str, Callable[[ModelCard, TypedGraph], FaceRecogniser]] = {
    "arcface": ArcFace,
    "sface": SFace,
}


def build_recogniser(card: ModelCard, bench: Bench) -> FaceRecogniser:
    """The recogniser of an entry.

    Raises:
        ModelError: its family is not known, or its graph does not fit that.
    """
    return family_of(card, FACE_RECOGNISERS)(card, bench.runner(card))
