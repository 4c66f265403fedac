"""Graphs that leave open what they give, and then give what their family cannot read."""

from __future__ import annotations

import numpy as np
import pytest

from facefusion.core.errors import ModelError
from facefusion.core.values import Face
from facefusion.faces.classify.fairface import FairFace
from facefusion.faces.landmark.fan import Fan
from facefusion.faces.mask.base import FaceCrop
from facefusion.faces.mask.bisenet import BiSeNet
from tests.faces.fakes import ArrayPicture
from tests.toys import masks
from tests.toys.vague import VagueGraph

POINTS = np.array(((38, 51), (73, 51), (56, 71), (41, 92), (70, 92)), np.float32)
PICTURE = ArrayPicture(np.full((112, 112, 3), 120, np.uint8))


def zeros(*shape):
    return np.zeros(shape, np.float32)


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_the_number_of_a_class_may_come_in_any_shape(shape):
    graph = VagueGraph({"input": (1, 3, 224, 224)}, [np.full(shape, 1, np.float32)] * 3)
    traits = FairFace(masks.card("fairface", "fairface"), graph).classify(PICTURE, POINTS)
    assert (traits.gender, traits.race, traits.age) == ("female", "black", (3, 10))


def test_the_likelihoods_of_classes_are_no_class():
    graph = VagueGraph({"input": (1, 3, 224, 224)}, [zeros(1, 7), zeros(1, 2), zeros(1, 9)])
    with pytest.raises(ModelError) as refused:
        FairFace(masks.card("fairface", "fairface"), graph).classify(PICTURE, POINTS)
    assert refused.value.fault == (
        "fairface: the graph does not fit its family: expected the number of a class in each output, "
        "found 7, 2, 9 numbers"
    )


@pytest.mark.parametrize(
    ("points", "fault"),
    [
        (zeros(1, 67, 3), "expected output 0 (output_0) as 1 x 68 x any, found 1 x 67 x 3"),
        (zeros(1, 68, 1), "expected two coordinates for a point or more, found 1"),
    ],
)
def test_points_of_another_number_or_kind_are_refused(points, fault):
    graph = VagueGraph({"input": (1, 3, 256, 256)}, [points, zeros(1, 68, 64, 64)])
    with pytest.raises(ModelError) as refused:
        Fan(masks.card("fan", "fan"), graph).read([np.zeros((256, 256, 3), np.uint8)])
    assert refused.value.fault == f"fan: the graph does not fit its family: {fault}"


def test_too_few_classes_of_regions_are_refused():
    graph = VagueGraph({"input": (1, 3, 512, 512)}, [zeros(1, 5, 8, 8)])
    face = Face(np.array((0, 0, 1, 1), np.float32), 0.9, POINTS)
    crop = FaceCrop(np.zeros((128, 128, 3), np.uint8), face, np.eye(2, 3), PICTURE)
    parser = BiSeNet(masks.card("bisenet_resnet_34", "bisenet", "face_parser"), graph)
    with pytest.raises(ModelError) as refused:
        parser.regions([crop], frozenset({"skin"}))
    assert refused.value.fault == (
        "bisenet_resnet_34: the graph does not fit its family: expected 14 classes or more, found 5"
    )
