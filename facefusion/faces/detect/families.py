"""The families of face detectors, one line each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from facefusion.catalogue.card import ModelCard
from facefusion.catalogue.families import family_of
from facefusion.faces.bench import Bench
from facefusion.faces.detect.base import CandidateDetector
from facefusion.faces.detect.many import ManyDetectors
from facefusion.faces.detect.scrfd import Scrfd
from facefusion.faces.detect.yolo_face import YoloFace
from facefusion.faces.detect.yunet import YuNet


def build_detector(card: ModelCard, bench: Bench) -> CandidateDetector:
    """The detector of an entry.

    Raises:
        ModelError: its family is not known, or its graph does not fit that.
    """
    return family_of(card, FACE_DETECTORS)(card, bench)


FACE_DETECTORS: Mapping[str, Callable[[ModelCard, Bench], CandidateDetector]] = {
    "many": lambda card, bench: ManyDetectors(card, [build_detector(one, bench) for one in bench.beside(card)]),
    "scrfd": lambda card, bench: Scrfd(card, bench.runner(card)),
    "yolo_face": lambda card, bench: YoloFace(card, bench.runner(card)),
    "yunet": lambda card, bench: YuNet(card, bench.runner(card)),
}
