"""The embedded models on the demo media: real faces, real networks."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import cv2
import numpy as np
import pytest

from facefusion.catalogue.store import ModelStore
from facefusion.content.open_nsfw import OpenNsfw
from facefusion.core.values import Size
from facefusion.faces.analyse import FaceAnalyser
from facefusion.faces.detect.search import FaceSearch
from facefusion.faces.detect.yunet import YuNet
from facefusion.faces.hands.find import HandFinder
from facefusion.faces.hands.joints import HandJoints
from facefusion.faces.hands.palm import PalmDetector
from facefusion.faces.hands.shape import draw_hand
from facefusion.faces.landmark.mesh import FaceMesh
from facefusion.faces.landmark.points import eye_distance
from facefusion.faces.mask.base import FaceCrop
from facefusion.faces.mask.mesh import MeshOccluder
from facefusion.faces.recognise.base import similarity
from facefusion.faces.recognise.sface import SFace
from facefusion.faces.track import FaceTracker
from facefusion.inference.providers.cpu import CPU, CpuOptions
from facefusion.inference.session import LoadRequest, ModelFile, OrtSession
from facefusion.media.image import read_image
from facefusion.media.probe import probe
from facefusion.media.reader import VideoReader
from tests.faces.fakes import ArrayPicture
from tests.toys import hands

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
        self.hands = HandFinder(PalmDetector(*load("palm_detection")), HandJoints(*load("hand_landmarks")))


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


HANDS = [(230, 330, 1.0, 0.0), (330, 330, 0.8, 0.4), (200, 330, 1.2, -0.3)]
"""Place, size and angle of a hand held before the portrait's mouth or cheek."""


def test_nobody_holds_a_hand_before_the_portrait(models, portrait):
    (face,) = models.analyser.faces(portrait, recognise=False)
    assert models.hands.near(portrait, face.mesh) == []


@pytest.mark.parametrize("place", HANDS)
def test_a_hand_is_found_joint_by_joint(models, portrait, place):
    (face,) = models.analyser.faces(portrait, recognise=False)
    joints = hands.held_up(*place)
    (found,) = models.hands.near(ArrayPicture(hands.paint(portrait.pixels, joints)), face.mesh)
    palm = np.linalg.norm(joints[9] - joints[0])
    assert np.linalg.norm(found[:, :2] - joints[:, :2], axis=1).mean() < 0.15 * palm


@pytest.mark.parametrize("place", HANDS)
def test_a_hand_is_no_part_of_the_face(models, portrait, place):
    """It has the colour of the face, so nothing else tells the two apart."""
    joints = hands.held_up(*place)
    (face,) = models.analyser.faces(portrait, recognise=False)
    masks = []
    for pixels in (portrait.pixels, hands.paint(portrait.pixels, joints)):
        crop = FaceCrop(pixels, face, np.eye(2, 3), ArrayPicture(pixels))
        masks.append(MeshOccluder(models.hands).uncovered([crop])[0] > 0.5)
    bare, covered = masks
    hand = draw_hand(joints, Size(512, 600)) > 0
    over_face = hand & bare
    assert over_face.sum() > 300
    assert (covered & over_face).sum() < 0.35 * over_face.sum()
    beside = bare & ~(cv2.dilate(hand.astype(np.uint8), np.ones((31, 31), np.uint8)) > 0)
    assert (covered & beside).sum() > 0.9 * beside.sum()


def test_portrait_passes_the_content_filter(models, portrait):
    assert models.content.score(models.content.thumbnail(portrait)) < 0.2
