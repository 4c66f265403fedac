"""Several detectors as one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from facefusion.catalogue.catalogue import Catalogue
from facefusion.faces.bench import Bench
from facefusion.faces.detect.base import Detections
from facefusion.faces.detect.families import FACE_DETECTORS, build_detector
from facefusion.faces.detect.many import ManyDetectors
from tests.faces.planted import SCENES, check_planted
from tests.faces.stage import card
from tests.toys import detectors
from tests.toys.pooled import Toys


class Planned:
    """Finds boxes 10 pixels wide and high at the given left edges, whatever it sees."""

    def __init__(self, *finds):
        self.finds = finds

    def candidates(self, image, minimum_score):
        finds = [find for find in self.finds if find[1] >= minimum_score]
        boxes = np.array([(left, 0, left + 10, 10) for left, _ in finds], np.float32).reshape(-1, 4)
        scores = np.array([score for _, score in finds], np.float32)
        return Detections(boxes, scores, np.zeros((len(finds), 5, 2), np.float32))


def left_edges(*detectors_):
    found = ManyDetectors(card("many"), detectors_).detect(np.zeros((32, 32, 3), np.uint8), 0.5)
    return found.boxes[:, 0].tolist()


def test_what_any_of_them_finds_counts_best_first():
    assert left_edges(Planned((0, 0.6)), Planned((100, 0.9), (200, 0.4)), Planned()) == [100, 0]


def test_finds_of_several_on_one_face_are_one():
    # Shifted by 8 of 10 pixels they share 2 of 18, which is more than a tenth; by 9 it is 1 of 19.
    assert left_edges(Planned((0, 0.6)), Planned((8, 0.9))) == [8]
    assert left_edges(Planned((0, 0.6)), Planned((9, 0.9))) == [9, 0]


def test_a_find_that_a_better_one_replaces_within_a_detector_still_competes():
    # The middle one overlaps both, and falls to the left; so the right one stays.
    assert left_edges(Planned((0, 0.9), (8, 0.8)), Planned((16, 0.7))) == [0, 16]


@pytest.mark.parametrize(("face", "frame"), SCENES)
def test_a_planted_face_is_found_by_the_companions_together(tmp_path, face, frame):
    companions = {
        "first": replace(card("scrfd"), name="first"),
        "second": replace(card("scrfd"), name="second"),
        "third": replace(card("yolo_face"), name="third"),
    }
    models = {
        "first": detectors.scrfd(160, 160),
        "second": detectors.scrfd("height", "width"),
        "third": detectors.yolo_face(160, 160),
    }
    with Toys(tmp_path) as toys:
        graphs = {name: toys.run(model) for name, model in models.items()}
        entry = replace(card("many"), companions=tuple(companions))
        check_planted(build_detector(entry, Bench(lambda one: graphs[one.name], companions)), face, frame)
        assert all(graph.runs for graph in graphs.values())


def test_every_detector_of_the_catalogue_has_its_family():
    assert {card.family for card in Catalogue.load().cards("face_detector")} <= FACE_DETECTORS.keys()
