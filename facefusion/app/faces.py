"""Building the face analysis from settings."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace

from facefusion.catalogue.card import ModelCard
from facefusion.catalogue.catalogue import Catalogue
from facefusion.config.state import Snapshot
from facefusion.core.errors import UsageError
from facefusion.core.values import Size
from facefusion.faces.analyse import FaceAnalyser
from facefusion.faces.bench import Bench
from facefusion.faces.classify.families import build_classifier
from facefusion.faces.detect.families import build_detector
from facefusion.faces.detect.search import FaceSearch
from facefusion.faces.landmark.families import build_landmarker, build_refiner
from facefusion.faces.mask.base import BOX, MaskUse
from facefusion.faces.mask.families import build_occluder, build_parser
from facefusion.faces.mask.masker import FaceMasker
from facefusion.faces.recognise.families import build_recogniser
from facefusion.faces.settings import (
    MASK_MODELS,
    FaceDetectorSettings,
    FaceLandmarkerSettings,
    FaceMaskerSettings,
    FaceRecognizerSettings,
    FaceSelectorSettings,
    FaceTrackerSettings,
)
from facefusion.faces.track import FaceTracker, TrackerLimits

FACE_CLASSIFIER = "face_classifier"
WHOLE = 100
"""Percent."""


def face_models(snapshot: Snapshot) -> dict[str, str]:
    """The models that face analysis needs: kind to the name chosen, or ``auto``; a classifier for filters only."""
    filtered = bool(snapshot.get(FaceSelectorSettings).filters)
    classifier = {FACE_CLASSIFIER: Catalogue.load().preferred(FACE_CLASSIFIER)[0].name} if filtered else {}
    return classifier | {
        "face_detector": snapshot.get(FaceDetectorSettings).face_detector_model,
        "face_landmarker": snapshot.get(FaceLandmarkerSettings).face_landmarker_model,
        "face_recognizer": snapshot.get(FaceRecognizerSettings).face_recognizer_model,
    }


def build_analyser(snapshot: Snapshot, cards: Mapping[str, ModelCard], bench: Bench) -> FaceAnalyser:
    """Detector, landmarker, recogniser and classifier as the settings say, with the models of :func:`face_models`."""
    detection = snapshot.get(FaceDetectorSettings)
    detector, landmarker, recogniser = (cards[kind] for kind in ("face_detector", "face_landmarker", "face_recognizer"))
    search = FaceSearch(
        build_detector(detector, bench),
        Size(*detection.limit),
        detection.face_detector_score,
        detection.margin,
    )
    classifier = cards.get(FACE_CLASSIFIER)
    score = snapshot.get(FaceLandmarkerSettings).face_landmarker_score
    return FaceAnalyser(
        search,
        build_landmarker(landmarker, bench),
        build_recogniser(recogniser, bench),
        score,
        detection.face_detector_angles,
        None if classifier is None else build_classifier(classifier, bench),
        # A score of 0 asks for no landmarker of its own, as in FaceFusion.
        build_refiner(landmarker, bench, score) if score > 0 else None,
    )


def analyser_recipe(snapshot: Snapshot, digests: Mapping[str, str]) -> Hashable:
    """All that an analyser gives depends on, beside what runs its graphs.

    Args:
        snapshot: the settings in force.
        digests: SHA-256 of the graphs of the step, by the model's name.
    """
    groups = (FaceDetectorSettings, FaceLandmarkerSettings, FaceRecognizerSettings)
    classified = bool(snapshot.get(FaceSelectorSettings).filters)
    return (*(snapshot.get(group) for group in groups), classified, tuple(sorted(digests.items())))


def build_tracker(snapshot: Snapshot, analyser: FaceAnalyser) -> FaceTracker:
    """A tracker as the settings say."""
    link = snapshot.get(FaceTrackerSettings).face_tracker_score
    limits = TrackerLimits()
    return FaceTracker(analyser, replace(limits, link=link) if link > 0 else limits)


def mask_models(snapshot: Snapshot, use: MaskUse) -> dict[str, str]:
    """The models that the masks of a processor need, as :func:`face_models`: none where no chosen mask needs any."""
    settings = snapshot.get(FaceMaskerSettings)
    names = {"face_occluder": settings.face_occluder_model, "face_parser": settings.face_parser_model}
    types = use.types(settings.face_mask_types)
    return {kind: names[kind] for mask, kind in MASK_MODELS.items() if mask in types}


def check_padding(snapshot: Snapshot, uses: Iterable[MaskUse]) -> None:
    """Refuse a padding that leaves nothing of the box.

    Args:
        snapshot: the settings in force.
        uses: which masks the chosen processors heed.

    Raises:
        UsageError: it does so, and one of them heeds it.
    """
    settings = snapshot.get(FaceMaskerSettings)
    top, right, bottom, left = settings.padding
    if not any(use.padded and BOX in use.types(settings.face_mask_types) for use in uses):
        return
    for first, second, one, other in ((top, bottom, "top", "bottom"), (left, right, "left", "right")):
        if first + second >= WHOLE:
            raise UsageError(
                f"face_mask_padding = {' '.join(map(str, settings.face_mask_padding))}: {first} percent from the {one} "
                f"and {second} from the {other} leave nothing of a face to change",
                f"Give numbers whose sums are below {WHOLE}: top and bottom, left and right.",
            )


def build_masker(snapshot: Snapshot, use: MaskUse, cards: Mapping[str, ModelCard], bench: Bench) -> FaceMasker:
    """The masks of a processor as the settings say, with the networks that :func:`mask_models` names for it.

    Raises:
        UsageError: the parser finds none of the regions that the user chose, so that nothing would be changed.
    """
    settings = snapshot.get(FaceMaskerSettings)
    needed = mask_models(snapshot, use)
    occluder = parser = None
    if "face_occluder" in needed:
        occluder = build_occluder(cards["face_occluder"], bench)
    if "face_parser" in needed:
        card = cards["face_parser"]
        parser = build_parser(card, bench)
        if parser.lacks.issuperset(settings.face_mask_regions):
            raise UsageError(
                f"face_mask_regions = {' '.join(settings.face_mask_regions)}: the face parser {card.name} finds none "
                "of these, so nothing would be changed",
                "Name others too, or another --face-parser-model.",
            )
    return FaceMasker(settings, use, occluder, parser)
