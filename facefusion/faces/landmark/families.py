"""The families of landmarkers, one line each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from facefusion.catalogue.card import ModelCard
from facefusion.core.graph import GraphRunner
from facefusion.faces.landmark.base import FaceLandmarker
from facefusion.faces.landmark.mesh import FaceMesh

FACE_LANDMARKERS: Mapping[str, Callable[[ModelCard, GraphRunner], FaceLandmarker]] = {
    "mesh": FaceMesh,
}
