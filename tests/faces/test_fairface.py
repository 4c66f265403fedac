"""FairFace, with a graph whose classes follow the colour of the face."""

from __future__ import annotations

import numpy as np
import pytest

from facefusion.core.errors import ModelError
from facefusion.core.values import FaceTraits
from facefusion.faces.classify.fairface import AGES, FairFace
from facefusion.faces.classify.families import FACE_CLASSIFIERS
from facefusion.vision.geometry import FACE_TEMPLATES
from tests.faces.fakes import ArrayPicture
from tests.faces.stage import card
from tests.toys.faces import arcface, fairface
from tests.toys.pooled import Spy, Toys

POINTS = FACE_TEMPLATES["arcface_112_v2"] * 100 + np.array((150, 90), np.float32)


@pytest.fixture
def toys(tmp_path):
    with Toys(tmp_path) as toys:
        yield toys


def coloured(red, green, blue):
    """A grey frame with a face of one colour at ``POINTS``."""
    pixels = np.full((240, 400, 3), 128, np.uint8)
    pixels[90:190, 150:250] = (blue, green, red)
    return ArrayPicture(pixels)


@pytest.mark.parametrize(
    ("colour", "traits"),
    [
        ((16, 64, 12), FaceTraits("male", (0, 3), "white")),
        ((48, 192, 36), FaceTraits("female", (3, 10), "black")),
        ((80, 192, 60), FaceTraits("female", (10, 20), "latino")),
        ((112, 64, 84), FaceTraits("male", (20, 30), "asian")),
        ((144, 64, 108), FaceTraits("male", (30, 40), "asian")),
        ((176, 64, 132), FaceTraits("male", (40, 50), "indian")),
        ((208, 64, 156), FaceTraits("male", (50, 60), "arabic")),
        ((240, 64, 180), FaceTraits("male", (60, 70), "white")),
        ((16, 64, 204), FaceTraits("male", (70, 101), "white")),
        ((16, 64, 228), FaceTraits("male", (70, 101), "white")),
    ],
)
def test_classes_become_traits(toys, colour, traits):
    classifier = FACE_CLASSIFIERS["fairface"](card("fairface"), toys.run(fairface()))
    assert classifier.classify(coloured(*colour), POINTS) == traits


def test_levels_reach_the_graph_red_first_and_normalised(toys):
    graph = Spy(toys.run(fairface()))
    FairFace(card("fairface"), graph).classify(coloured(51, 102, 204), POINTS)
    # The face is one colour, so the place is free: the middle.
    expected = (0.2 - 0.485) / 0.229, (0.4 - 0.456) / 0.224, (0.8 - 0.406) / 0.225
    np.testing.assert_allclose(graph.given["input"][0, :, 112, 112], expected, rtol=1e-5)


def test_every_year_of_life_belongs_to_one_range():
    for year in range(101):
        assert sum(first <= year < behind_last for first, behind_last in AGES) == 1


def test_a_graph_of_another_family_is_refused(toys):
    with pytest.raises(ModelError, match="fairface: the graph does not fit its family: expected the input input"):
        FairFace(card("fairface"), toys.run(arcface()))
