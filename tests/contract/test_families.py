"""Every model of the catalogue has the code that runs it, and all such code has a model."""

from __future__ import annotations

import pytest

from facefusion.catalogue.catalogue import Catalogue
from facefusion.content.families import CONTENT_MODELS
from facefusion.faces.classify.families import FACE_CLASSIFIERS
from facefusion.faces.detect.families import FACE_DETECTORS
from facefusion.faces.landmark.families import FACE_LANDMARKERS, OUTLINE_ESTIMATORS, OUTLINE_READERS
from facefusion.faces.mask.families import FACE_OCCLUDERS, FACE_PARSERS
from facefusion.faces.recognise.families import FACE_RECOGNISERS
from facefusion.processors.face_enhancer.processor import FAMILIES as FACE_ENHANCERS
from facefusion.processors.face_swapper.processor import FAMILIES as FACE_SWAPPERS

FAMILIES = {
    "content_analyser": CONTENT_MODELS,
    "face_classifier": FACE_CLASSIFIERS,
    "face_detector": FACE_DETECTORS,
    "face_enhancer": FACE_ENHANCERS,
    "face_landmark_estimator": OUTLINE_ESTIMATORS,
    "face_landmarker": {**FACE_LANDMARKERS, **OUTLINE_READERS},
    "face_occluder": FACE_OCCLUDERS,
    "face_parser": FACE_PARSERS,
    "face_recognizer": FACE_RECOGNISERS,
    "face_swapper": FACE_SWAPPERS,
}


@pytest.mark.parametrize("kind", FAMILIES)
def test_models_and_families_fit_each_other(kind):
    cards = [card for card in Catalogue.load().cards(kind) if card.graph is not None or not card.companions]
    assert {card.family for card in cards} - FAMILIES[kind].keys() == set()
