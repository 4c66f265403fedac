"""Building the face analysis from settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from facefusion.catalogue.card import ModelCard
from facefusion.config.state import Snapshot
from facefusion.core.graph import GraphRunner
from facefusion.core.values import Size
from facefusion.faces.analyse import FaceAnalyser
from facefusion.faces.detect.families import FACE_DETECTORS
from facefusion.faces.detect.search import FaceSearch
from facefusion.faces.landmark.families import FACE_LANDMARKERS
from facefusion.faces.recognise.families import FACE_RECOGNISERS
from facefusion.faces.settings import (
    FaceDetectorSettings,
    FaceLandmarkerSettings,
    FaceRecognizerSettings,
    FaceTrackerSettings,
)
from facefusion.faces.track import FaceTracker, TrackerLimits


def face_models(snapshot: Snapshot) -> dict[str, str]:
    """The models that face analysis needs: kind to the name chosen, or ``auto``."""
    return {
        "face_detector": snapshot.get(FaceDetectorSettings).face_detector_model,
        "face_landmarker": snapshot.get(FaceLandmarkerSettings).face_landmarker_model,
        "face_recognizer": snapshot.get(FaceRecognizerSettings).face_recognizer_model,
    }


def build_analyser(
    snapshot: Snapshot, cards: Mapping[str, ModelCard], runner: Callable[[ModelCard], GraphRunner]
) -> FaceAnalyser:
    """Detector, landmarker and recogniser as the settings say."""
    detection = snapshot.get(FaceDetectorSettings)
    detector, landmarker, recogniser = (cards[kind] for kind in ("face_detector", "face_landmarker", "face_recognizer"))
    search = FaceSearch(
        FACE_DETECTORS[detector.family](detector, runner(detector)),
        Size(*detection.limit),
        detection.face_detector_score,
        detection.margin,
    )
    return FaceAnalyser(
        search,
        FACE_LANDMARKERS[landmarker.family](landmarker, runner(landmarker)),
        FACE_RECOGNISERS[recogniser.family](recogniser, runner(recogniser)),
        snapshot.get(FaceLandmarkerSettings).face_landmarker_score,
        detection.face_detector_angles,
    )


def build_tracker(snapshot: Snapshot, analyser: FaceAnalyser) -> FaceTracker:
    """A tracker as the settings say."""
    link = snapshot.get(FaceTrackerSettings).face_tracker_score
    limits = TrackerLimits()
    return FaceTracker(analyser, replace(limits, link=link) if link > 0 else limits)
