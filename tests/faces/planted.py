"""Whether a detector finds what was planted, through the whole search."""

from __future__ import annotations

import numpy as np
import pytest

from facefusion.core.values import Size
from facefusion.faces.detect.base import FaceDetector
from facefusion.faces.detect.search import FaceSearch
from tests.toys.detectors import PLACES, planted

SCENES = [
    # x, y and side of the face, width and height of the frame
    pytest.param((70.25, 60.5, 40.0), (160, 128), id="as it is"),
    pytest.param((90.0, 41.75, 30.5), (150, 100), id="a size that is no multiple of the stride"),
    pytest.param((401.5, 300.25, 180.0), (640, 480), id="shrunk four times"),
    pytest.param((34.5, 33.25, 64.0), (200, 120), id="near the corner"),
    pytest.param((10.0, 9.0, 18.0), (160, 160), id="nearest to the first cell of every stride"),
]


def check_planted(detector: FaceDetector, face: tuple[float, float, float], frame: tuple[int, int]) -> None:
    """One find, where the face was planted, to half a pixel of the frame."""
    x, y, side = face
    found = FaceSearch(detector, Size(160, 160)).find(planted(x, y, side, *frame))
    assert len(found.scores) == 1
    np.testing.assert_allclose(found.boxes[0], np.array((-0.5, -0.5, 0.5, 0.5)) * side + (x, y, x, y), atol=0.5)
    np.testing.assert_allclose(found.points[0], PLACES * side + (x, y), atol=0.5)
