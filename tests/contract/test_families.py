"""Every model of the catalogue has the code that runs it, and all such code has a model."""

from __future__ import annotations

import pytest

from facefusion.catalogue.catalogue import Catalogue
from facefusion.content.families import CONTENT_MODELS
from facefusion.faces.classify.families import FACE_CLASSIFIERS
from facefusion.faces.detect.families import FACE_DETECTORS
from facefusion.faces.hands.families import HAND_DETECTORS, HAND_LANDMARKERS
from facefusion.faces.landmark.families import FACE_LANDMARKERS, OUTLINE_ESTIMATORS, OUTLINE_READERS
from facefusion.faces.mask.families import FACE_OCCLUDERS, FACE_PARSERS
from facefusion.faces.recognise.families import FACE_RECOGNISERS
from facefusion.processors.face_enhancer.processor import FAMILIES as FACE_ENHANCERS
from facefusion.processors.face_swapper.processor import FAMILIES as FACE_SWAPPERS
from tests.contract.test_facefusion import FACTS

BESIDE = {"frame_enhancer", "identity_converter"}
"""Kinds whose only family is named nowhere."""

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
    "hand_detector": HAND_DETECTORS,
    "hand_landmarker": HAND_LANDMARKERS,
}


@pytest.mark.parametrize("kind", FAMILIES)
def test_every_model_has_a_family_that_runs_it_and_every_family_a_model(kind):
    catalogue = Catalogue.load()
    assert {card.family for card in catalogue.cards(kind)} == set(FAMILIES[kind])


def test_every_kind_of_model_that_is_chosen_by_name_has_families():
    catalogue = Catalogue.load()
    assert {card.kind for card in catalogue.cards()} - FAMILIES.keys() <= BESIDE


@pytest.mark.parametrize("kind", [kind for kind in FAMILIES if f"{kind}_model" in FACTS])
def test_every_face_model_of_facefusion_can_be_run(kind):
    assert set(FACTS[f"{kind}_model"]["choices"]) <= set(Catalogue.load().names(kind))
