"""The families of face detectors, one line each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from facefusion.catalogue.card import ModelCard
from facefusion.core.graph import GraphRunner
from facefusion.faces.detect.base import FaceDetector
from facefusion.faces.detect.yunet import YuNet

FACE_DETECTORS: Mapping[str, Callable[[ModelCard, GraphRunner], FaceDetector]] = {
    "yunet": YuNet,
}
