"""The embedded models on the demo media: real faces, real networks."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from facefusion.catalogue.store import ModelStore
from facefusion.content.open_nsfw import OpenNsfw
from facefusion.faces.analyse import FaceAnalyser
from facefusion.faces.detect.search import FaceSearch
from facefusion.faces.detect.yunet import YuNet
from facefusion.faces.landmark.mesh import FaceMesh
from facefusion.faces.landmark.points import eye_distance
from facefusion.faces.recognise.base import similarity
from facefusion.faces.recognise.sface import SFace
from facefusion.faces.track import FaceTracker
from facefusion.inference.providers.cpu import CPU, CpuOptions
from facefusion.inference.session import LoadRequest, ModelFile, OrtSession
from facefusion.media.image import read_image
from facefusion.media.probe import probe
from facefusion.media.reader import VideoReader
from tests.faces.fakes import ArrayPicture

DEMO = Path(__file__).parents[2] / "assets" / "demo"
FRAMES = 30
PLACES = ((223, 189), (305, 187), (268, 244), (231, 280), (304, 276))
"""Eyes, nose tip and mouth corners in the portrait of 512 x 600 pixels, read off by eye."""


class Graph:
    """A graph on its own, without the pool."""

    def __init__(self, file: Path) -> None:
        self._session = OrtSession(LoadRequest(ModelFile(file.stem, file), ((CPU, CpuOptions()),)))
        self.signature = self._session.signature
        self.runs = 0

    def run(self, inputs):
        self.runs += 1
        return self._session.run(inputs)


class Models:
    def __init__(self, store: ModelStore) -> None:
        def load(name):
            found = store.catalogue.card(name)
            return found, Graph(store.ensure(found))

        card, self.detector = load("yunet")
        search = FaceSearch(YuNet(card, self.detector))
        self.analyser = FaceAnalyser(search, FaceMesh(*load("face_mesh")), SFace(*load("sface")))
        self.content = OpenNsfw(*load("open_nsfw"))


@pytest.fixture(scope="module")
def models(embedded_models):
    return Models(embedded_models)


@pytest.fixture(scope="module")
def portrait():
    return ArrayPicture(read_image(DEMO / "source.jpg").to_bgr())


@pytest.fixture(scope="module")
def clip(models):
    """What the tracker gives for the first frames of the demo clip, and how often the detector ran."""
    tracker, runs = FaceTracker(models.analyser), models.detector.runs
    with VideoReader(probe(DEMO / "target.mp4")) as reader:
        seen = [tracker.observe(frame) for frame in islice(reader, FRAMES)]
    return seen, models.detector.runs - runs


def test_portrait_shows_one_face(models, portrait):
    (face,) = models.analyser.faces(portrait, recognise=True)
    assert face.score > 0.9
    assert face.presence > 0.99
    assert np.hypot(*(face.landmarks5 - np.array(PLACES)).T).max() < 0.1 * eye_distance(face.mesh)


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_turned_portrait_shows_the_same_mesh(models, portrait, turns):
    (upright,) = models.analyser.faces(portrait, recognise=False)
    pixels = portrait.pixels
    (turned,) = models.analyser.faces(ArrayPicture(np.ascontiguousarray(np.rot90(pixels, turns))), recognise=False)
    height, width = pixels.shape[:2]
    x, y = turned.mesh[:, 0], turned.mesh[:, 1]
    back = {1: (width - 1 - y, x), 2: (width - 1 - x, height - 1 - y), 3: (y, height - 1 - x)}[turns]
    gaps = np.hypot(back[0] - upright.mesh[:, 0], back[1] - upright.mesh[:, 1])
    assert gaps.mean() < 0.03 * eye_distance(upright.mesh)


def test_mesh_does_not_depend_on_the_size_of_the_picture(models, portrait):
    (face,) = models.analyser.faces(portrait, recognise=False)
    half = ArrayPicture(portrait.thumbnail(portrait.size._replace(width=256, height=300)))
    (small,) = models.analyser.faces(half, recognise=False)
    gaps = (small.mesh[:, :2] + 0.5) * 2 - 0.5 - face.mesh[:, :2]
    assert np.hypot(*gaps.T).mean() < 0.03 * eye_distance(face.mesh)


def test_picture_without_a_face(models):
    noise = np.random.default_rng(0).integers(0, 255, (240, 320, 3), np.uint8)
    assert models.analyser.faces(ArrayPicture(noise), recognise=True) == ()


def test_one_track_runs_through_the_clip(clip):
    seen, detections = clip
    assert [[face.track for face in faces] for faces in seen] == [[0]] * FRAMES
    assert min(faces[0].presence for faces in seen) > 0.9
    # Once at the start and every half second of the 1.2 seconds.
    assert detections <= 4


def test_motion_in_the_clip_is_smooth(clip):
    meshes = np.array([faces[0].mesh[:468, :2] for faces in clip[0]])
    second = np.diff(meshes, 2, axis=0)
    assert np.hypot(second[..., 0], second[..., 1]).mean() < 0.02 * eye_distance(clip[0][0][0].mesh)


def test_identities_are_told_apart(models, portrait, clip):
    (face,) = models.analyser.faces(portrait, recognise=True)
    (mirrored,) = models.analyser.faces(ArrayPicture(portrait.pixels[:, ::-1].copy()), recognise=True)
    assert similarity(face.embedding, mirrored.embedding) > 0.7
    assert similarity(face.embedding, clip[0][-1][0].embedding) < 0.3


def test_portrait_passes_the_content_filter(models, portrait):
    assert models.content.score(portrait) < 0.2
