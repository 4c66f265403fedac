"""From a picture to its faces: meshes in place, doubtful finds dropped, identities told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from facefusion.core.errors import ModelError
from facefusion.core.graph import GraphSignature, GraphValue
from facefusion.core.values import Face
from facefusion.faces.analyse import DISAGREEMENT_LIMIT, FaceAnalyser, Find
from facefusion.faces.detect.base import Detections, ScoreScale
from facefusion.faces.detect.search import FaceSearch
from facefusion.faces.detect.yunet import YuNet
from facefusion.faces.landmark.base import MeshReading, region_of_detection, region_of_mesh
from facefusion.faces.landmark.mesh import FaceMesh
from facefusion.faces.landmark.points import (
    SIXTY_EIGHT,
    aligned_points,
    eye_distance,
    five_points,
    sixty_eight_points,
)
from facefusion.faces.recognise.base import LikenessScale, distance, mean_embedding, unit
from facefusion.faces.recognise.sface import SFace
from facefusion.vision.geometry import FACE_TEMPLATES, SquareRegion
from tests.faces.fakes import ArrayPicture, blank
from tests.faces.stage import CANONICAL, FIVE_PLACES, Actor, IdentityGraph, MeshGraph, Troupe, card, colour_of, draw


def test_faces_of_a_picture():
    faces = Troupe().analyser.faces(draw([Actor(1, 80, 100), Actor(5, 220, 120, 90)]), recognise=True)
    assert sorted(colour_of(face) for face in faces) == [1, 5]
    face = next(face for face in faces if colour_of(face) == 5)
    assert face.mesh is not None
    assert face.embedding is not None
    assert np.abs(face.mesh[:, :2] - (CANONICAL[:, :2] * 90 + (220, 120))).max() < 1.5
    assert face.mesh[:, 2] == pytest.approx(CANONICAL[:, 2] * 90, abs=0.5)
    assert face.box == pytest.approx(np.array((175, 75, 265, 165)), abs=1.5)
    assert np.array_equal(face.landmarks5, face.mesh[[468, 473, 1, 61, 291], :2])
    assert face.score == pytest.approx(0.95)
    assert face.presence == pytest.approx(0.9999)
    assert np.linalg.norm(face.embedding) == pytest.approx(1.0)
    assert (face.track, face.fresh) == (None, False)


def test_faces_are_recognised_on_request_only():
    troupe = Troupe()
    (face,) = troupe.analyser.faces(draw([Actor(1, 80, 100)]), recognise=False)
    assert face.embedding is None
    assert troupe.identity.runs == 0


def test_picture_without_a_face_is_looked_at_from_every_side():
    troupe = Troupe()
    assert troupe.analyser.faces(blank(), recognise=True) == ()
    assert troupe.detector.runs == 4


def test_clear_face_needs_no_other_side():
    troupe = Troupe()
    troupe.analyser.faces(draw([Actor(1, 80, 100)]), recognise=False)
    assert troupe.detector.runs == 1


SCORES = ScoreScale.of(card("yunet"))


class PlannedDetector:
    """Finds what the plan says, turn after turn."""

    def __init__(self, *plan, scores=SCORES):
        self.scores = scores
        self.plan = list(plan)

    def detect(self, image, minimum_score):
        finds = self.plan.pop(0) if self.plan else []
        boxes = np.array([box for box, _, _ in finds], np.float32).reshape(-1, 4)
        points = np.array([points for _, _, points in finds], np.float32).reshape(-1, 5, 2)
        return Detections(boxes, np.array([score for _, score, _ in finds], np.float32), points)


def find(x, y, side, score, shift=(0.0, 0.0)):
    points = FIVE_PLACES * side + (x, y) + np.array(shift) * side
    half = side / 2
    return (x - half, y - half, x + half, y + half), score, points


def analyser_with(*plan, minimum_presence=0.5, scores=SCORES):
    troupe = Troupe()
    search = FaceSearch(PlannedDetector(*plan, scores=scores))
    return FaceAnalyser(
        search, FaceMesh(card("mesh"), troupe.mesh), SFace(card("sface"), troupe.identity), minimum_presence
    )


@pytest.mark.parametrize(
    ("score", "presence", "count"),
    [
        pytest.param(0.95, 0.6, 1, id="a clear find"),
        pytest.param(0.6, 0.9, 0, id="a doubtful one, as of a blurred crowd"),
        pytest.param(0.6, 0.97, 1, id="a doubtful one of which the mesh is sure, as of a masked face"),
    ],
)
def test_doubtful_find_is_a_face_only_where_the_mesh_is_sure(score, presence, count):
    troupe = Troupe()
    troupe.detector.score, troupe.mesh.presence = score, presence
    assert len(troupe.analyser.faces(draw([Actor(1, 120, 110)]), recognise=False)) == count


def test_find_without_a_face_under_it_is_dropped():
    picture = draw([Actor(1, 80, 100)])
    analyser = analyser_with([find(80, 100, 60, 0.95), find(220, 100, 60, 0.94)])
    assert [round(float(face.box[0])) for face in analyser.faces(picture, recognise=False)] == [50]


def test_presence_of_zero_lets_everything_through_that_agrees():
    analyser = analyser_with([find(80, 100, 60, 0.95)], minimum_presence=0.0)
    assert len(analyser.faces(draw([Actor(1, 80, 100)]), recognise=False)) == 1


def test_two_finds_on_one_face_are_one():
    picture = draw([Actor(1, 80, 100)])
    # They overlap too little for the detector to tell, yet the mesh settles on the same face from both.
    analyser = analyser_with([find(80, 100, 60, 0.93), find(90, 108, 90, 0.95, (-0.1, 0.05))])
    (face,) = analyser.faces(picture, recognise=False)
    assert face.score == pytest.approx(0.93)


def test_points_elsewhere_than_the_mesh_are_not_believed():
    picture = draw([Actor(1, 80, 100)])
    # The eyes are 0.6 sides apart: a shift of a third of a side is over half an eye distance.
    assert DISAGREEMENT_LIMIT < 0.33 / 0.6
    analyser = analyser_with([find(80, 100, 60, 0.95, (0.33, 0.0))])
    assert analyser.faces(picture, recognise=False) == ()


def test_face_in_doubt_is_looked_for_at_the_other_turns():
    picture = draw([Actor(1, 80, 100)])
    upright = find(80, 100, 60, 0.87, (0.2, 0.0))
    box, _, points = find(80, 100, 60, 0.94)
    turned_box = (319 - box[2], 239 - box[3], 319 - box[0], 239 - box[1])
    turned = turned_box, 0.94, (319, 239) - points
    # Planned for 0, 90, 180 and 270 degrees.
    analyser = analyser_with([upright], [], [turned], [])
    (face,) = analyser.faces(picture, recognise=False)
    assert face.score == pytest.approx(0.94)


def test_weak_find_at_another_turn_is_ignored():
    picture = draw([Actor(1, 80, 100)])
    analyser = analyser_with([], [], [((209, 109, 269, 169), 0.75, (319, 239) - find(80, 100, 60, 1)[2])], [])
    assert analyser.faces(picture, recognise=False) == ()


def test_what_is_weak_is_said_by_the_scale_of_the_detector():
    picture = draw([Actor(1, 80, 100)])
    box, _, points = find(80, 100, 60, 1)
    turned = (319 - box[2], 239 - box[3], 319 - box[0], 239 - box[1]), 0.75, (319, 239) - points
    lenient = analyser_with([], [], [turned], [], scores=SCORES._replace(turned=0.7))
    assert len(lenient.faces(picture, recognise=False)) == 1
    planned: list[list[object]] = [[find(80, 100, 60, 0.85)], [], [], []]
    for clear, looks in ((0.92, 4), (0.85, 1)):
        detector = PlannedDetector(*planned, scores=SCORES._replace(clear=clear))
        troupe = Troupe()
        mesh, identity = FaceMesh(card("mesh"), troupe.mesh), SFace(card("sface"), troupe.identity)
        FaceAnalyser(FaceSearch(detector), mesh, identity).faces(picture, recognise=False)
        assert len(planned) - len(detector.plan) == looks


def test_the_scale_of_a_detector_stands_in_its_entry():
    numbers = {"clear_score": 0.9, "turned_score": 0.7, "sample_score": 0.6, "doubtful_score": 0.5}
    entry = replace(card("yunet"), numbers=numbers)
    assert YuNet(entry, Troupe().detector).scores == ScoreScale(clear=0.9, turned=0.7, sample=0.6, doubtful=0.5)
    del numbers["turned_score"]
    with pytest.raises(ModelError, match=r"^Model yunet: turned_score is None in the catalogue"):
        YuNet(entry, Troupe().detector)


def test_the_scale_of_a_recogniser_stands_in_its_entry():
    numbers = {"same_likeness": 0.3, "certain_likeness": 0.5, "strangers_likeness": 0.1}
    entry = replace(card("sface"), numbers=numbers)
    assert SFace(entry, IdentityGraph()).likeness == LikenessScale(same=0.3, certain=0.5, strangers=0.1)
    del numbers["certain_likeness"]
    with pytest.raises(ModelError, match=r"^Model sface: certain_likeness is None in the catalogue"):
        SFace(entry, IdentityGraph())


class Believer:
    """A landmarker that sees a face in every region."""

    def read(self, picture, region):
        mesh = CANONICAL * np.float32(region.side / 1.5) + np.array((region.x, region.y, 0), np.float32)
        return MeshReading(mesh, 1.0, np.zeros((8, 8, 3), np.uint8), np.eye(2, 3))


@pytest.mark.parametrize(
    ("angles", "limit"), [((0,), 0.4), ((0, 90), 0.3), ((0, 90, 180), 0.2), ((90, 0, 180, 270), 0.1), ((0, 0), 0.4)]
)
@pytest.mark.parametrize(("beyond", "count"), [(-0.03, 2), (0.03, 1)])
def test_the_more_turns_the_less_may_faces_overlap(angles, limit, beyond, count):
    search, recogniser = FaceSearch(PlannedDetector()), SFace(card("sface"), Troupe().identity)
    analyser = FaceAnalyser(search, Believer(), recogniser, angles=angles)
    # Two squares of side 60 that share a strip so wide that it is this part of what they cover together.
    overlap = limit + beyond
    step = 60 * (1 - 2 * overlap / (1 + overlap))
    finds = [Find(np.array(find(x, 100, 60, 1)[0]), 0.9, find(x, 100, 60, 1)[2]) for x in (100, 100 + step)]
    assert len(analyser.measure(blank(), finds)) == count


def test_of_very_many_finds_only_the_best_are_looked_at():
    looked = []

    class Counting(Believer):
        def read(self, picture, region):
            looked.append(region)
            return super().read(picture, region)

    analyser = FaceAnalyser(FaceSearch(PlannedDetector()), Counting(), SFace(card("sface"), Troupe().identity))
    places = [find(40 + 100 * (index % 20), 40 + 100 * (index // 20), 60, 1) for index in range(300)]
    scores = np.random.default_rng(1).permutation(300) / 300
    finds = [Find(np.array(box), float(score), points) for (box, _, points), score in zip(places, scores, strict=True)]
    kept = analyser.measure(blank(), finds)
    assert len(looked) == 2 * 256
    assert sorted(one.find.score for one in kept) == sorted(scores)[300 - 256 :]
    looked.clear()
    assert len(analyser.measure(blank(), finds[:7], most=7)) == 7
    assert len(looked) == 14


def test_region_of_a_detection_levels_the_eyes():
    points = np.array([(10, 10), (30, 30), (20, 30), (10, 40), (20, 50)], np.float32)
    region = region_of_detection(np.array((0, 10, 40, 60), np.float32), points)
    assert region == pytest.approx(SquareRegion(20, 35, 75, np.pi / 4))


def test_region_of_a_mesh_is_about_its_extent():
    region = region_of_mesh(CANONICAL * np.float32(40) + np.array((100, 90, 0), np.float32))
    assert region == pytest.approx(SquareRegion(100, 90, 60, 0), abs=1e-4)


def test_mesh_counts_from_the_edge_of_the_crop():
    class Corner:
        signature = MeshGraph.signature

        def run(self, inputs):
            self.tensor = inputs["input"]
            landmarks = np.zeros((1, 478, 3), np.float32)
            landmarks[0, :, :2] = (0.5, 192.0)
            landmarks[0, :, 2] = 19.2
            landmarks[0, 1:, 0] += np.arange(477) / 5
            return {"landmarks": landmarks, "presence": np.ones((1, 1), np.float32)}

    graph = Corner()
    picture = blank(400, 400)
    picture.pixels[:] = (0, 51, 255)
    reading = FaceMesh(card("mesh"), graph).read(picture, SquareRegion(199.5, 199.5, 384.0, 0.0))
    # One crop pixel is two frame pixels; the middle of the first lies between pixels 8 and 9 of the frame.
    assert reading.mesh[0] == pytest.approx((8.5, 391.5, 38.4), abs=1e-3)
    assert graph.tensor.shape == (1, 192, 192, 3)
    assert graph.tensor[0, 96, 96] == pytest.approx((1.0, 0.2, 0.0))


def test_a_graph_of_another_landmarker_is_refused():
    class Other(MeshGraph):
        signature = GraphSignature(MeshGraph.signature.inputs, IdentityGraph.signature.outputs)

    with pytest.raises(ModelError) as refused:
        FaceMesh(card("mesh"), Other())
    assert refused.value.fault == "mesh: the graph does not fit its family: expected 2 outputs, found 1 (fc1)"


def test_sixty_eight_points_are_ordered_as_in_ibug():
    assert len(set(SIXTY_EIGHT.tolist())) == 68
    mesh = np.zeros((478, 3), np.float32)
    mesh[[33, 263, 61, 291, 4, 152], :2] = (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6)
    points = sixty_eight_points(mesh)
    assert [points[index, 0] for index in (36, 45, 48, 54, 30, 8)] == [1, 2, 3, 4, 5, 6]


def test_five_points_and_eye_distance():
    mesh = np.zeros((478, 3), np.float32)
    mesh[[468, 473, 1, 61, 291], 0] = range(5)
    mesh[263, :2] = (3, 4)
    assert five_points(mesh)[:, 0].tolist() == [0, 1, 2, 3, 4]
    assert eye_distance(mesh) == 5.0


def test_recogniser_sees_the_face_on_the_template():
    class Looker:
        signature = IdentityGraph.signature

        def run(self, inputs):
            self.tensor = inputs["data"]
            return {"fc1": np.array([[3.0, 4.0, *[0.0] * 126]], np.float32)}

    graph = Looker()
    places = FACE_TEMPLATES["arcface_112_v2"] * 112
    picture = ArrayPicture(np.zeros((240, 320, 3), np.uint8))
    for x, y in np.round(places + np.array((100, 50))).astype(int):
        picture.pixels[y, x] = (10, 20, 250)
    embedding = SFace(card("sface"), graph).embed(picture, places + np.array((100, 50), np.float32))
    assert embedding.tolist() == pytest.approx([0.6, 0.8, *[0] * 126])
    assert graph.tensor.shape == (1, 3, 112, 112)
    for x, y in np.round(places).astype(int):
        assert graph.tensor[0, :, y, x] == pytest.approx((250, 20, 10), abs=3)


def test_a_graph_of_another_recogniser_is_refused():
    class Other(IdentityGraph):
        signature = GraphSignature(IdentityGraph.signature.inputs, {"fc1": GraphValue((1, 512), np.dtype(np.float32))})

    with pytest.raises(ModelError) as refused:
        SFace(card("sface"), Other())
    assert refused.value.fault == (
        "sface: the graph does not fit its family: expected output 0 (fc1) as 1 x 128, found 1 x 512 of type float32"
    )


def test_distance_is_half_of_what_cosine_lacks():
    first, second = np.array((1.0, 0.0), np.float32), np.array((0.6, 0.8), np.float32)
    assert distance(first, first) == 0.0
    assert distance(first, second) == pytest.approx(0.2)
    assert distance(first, -first) == 1.0
    assert distance(first, np.array((0.0, 1.0), np.float32)) == 0.5


def test_mean_of_embeddings_has_unit_length():
    mean = mean_embedding([np.array((1.0, 0.0), np.float32), np.array((0.0, 1.0), np.float32)])
    assert mean.tolist() == pytest.approx([0.5**0.5] * 2)
    with pytest.raises(ValueError, match="no mean of no"):
        mean_embedding([])
    with pytest.raises(ValueError, match="no direction"):
        unit(np.zeros(4, np.float32))


def test_templates_are_fitted_to_the_best_points_that_a_face_has():
    rng = np.random.default_rng(3)
    five, sixty_eight = (rng.uniform(0, 99, (count, 2)).astype(np.float32) for count in (5, 68))
    mesh = rng.uniform(0, 99, (478, 3)).astype(np.float32)
    plain = Face(np.zeros(4, np.float32), 1.0, five)
    np.testing.assert_array_equal(aligned_points(plain), five)
    found = aligned_points(replace(plain, mesh=mesh, landmarks68=sixty_eight))
    np.testing.assert_allclose(found[0], sixty_eight[36:42].mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(found[1], sixty_eight[42:48].mean(axis=0), rtol=1e-6)
    np.testing.assert_array_equal(found[2:], sixty_eight[[30, 48, 54]])
    np.testing.assert_array_equal(aligned_points(replace(plain, mesh=mesh))[2:], sixty_eight_points(mesh)[[30, 48, 54]])
