"""The mesh family on the demo media, judged by an identity network that it does not use."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from facefusion.faces.landmark.points import eye_distance
from facefusion.faces.recognise.base import similarity
from facefusion.media.image import read_image
from facefusion.media.probe import probe
from facefusion.media.reader import VideoReader
from facefusion.processors.base import Scene, Source
from facefusion.processors.face_swapper.families.mesh.family import MeshFamily
from facefusion.vision.picture import BgrPicture
from tests.faces.test_embedded import Models

DEMO = Path(__file__).parents[3] / "assets" / "demo"
EVERY = 30
"""One frame of so many is judged: the head turns, nods, blinks and speaks in between."""


@pytest.fixture(scope="module")
def results(embedded_models):
    """For each frame judged: similarity to the source, to the target, and the landmarks' error in eye distances."""
    analyser = Models(embedded_models).analyser
    picture = read_image(DEMO / "source.jpg")
    face: Any
    (face,) = analyser.faces(picture, recognise=True)
    family = MeshFamily(0.5)
    family.prepare([Source("source.jpg", picture, face)])
    judged = []
    with VideoReader(probe(DEMO / "target.mp4")) as reader:
        for frame in islice(reader, 0, None, EVERY):
            before: Any
            (before,) = analyser.faces(frame.picture, recognise=True)
            family.swap([Scene(frame.picture, [before], (family.observe(frame, before),))])
            after: Any
            (after,) = analyser.faces(BgrPicture(frame.picture.to_bgr().astype(np.uint8)), recognise=True)
            error = np.linalg.norm(after.mesh[:468, :2] - before.mesh[:468, :2], axis=1).mean()
            judged.append(
                (
                    similarity(after.embedding, face.embedding),
                    similarity(after.embedding, before.embedding),
                    error / eye_distance(before.mesh),
                )
            )
    return np.array(judged)


def test_the_result_looks_like_the_source_more_than_like_the_target(results):
    assert len(results) == 5
    assert results[:, 0].mean() >= 0.5
    assert (results[:, 0] > results[:, 1]).all()


def test_the_expression_stays_the_target_s(results):
    assert results[:, 2].mean() <= 0.03
