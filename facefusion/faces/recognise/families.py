"""The families of recognisers, one line each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from facefusion.catalogue.card import ModelCard
from facefusion.core.graph import TypedGraph
from facefusion.faces.recognise.arcface import ArcFace
from facefusion.faces.recognise.base import FaceRecogniser
from facefusion.faces.recognise.sface import SFace

FACE_RECOGNISERS: Mapping[str, Callable[[ModelCard, TypedGraph], FaceRecogniser]] = {
    "arcface": ArcFace,
    "sface": SFace,
}
