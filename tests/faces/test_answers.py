"""Networks that say nothing sensible: it becomes a face that can be worked on, or a failure with the network's name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from facefusion.core.errors import InferenceError, ModelError
from facefusion.core.graph import GraphSignature, GraphValue, Shape
from facefusion.core.values import Face, Size, Tensor
from facefusion.faces.analyse import FaceAnalyser
from facefusion.faces.bench import Bench
from facefusion.faces.classify.families import build_classifier
from facefusion.faces.detect.base import Detections, checked
from facefusion.faces.detect.families import FACE_DETECTORS, build_detector
from facefusion.faces.detect.search import FaceSearch
from facefusion.faces.detect.yunet import OUTPUTS
from facefusion.faces.hands.find import HandFinder
from facefusion.faces.hands.joints import HandJoints
from facefusion.faces.hands.palm import PalmDetector
from facefusion.faces.hands.shape import draw_hand
from facefusion.faces.landmark.base import region_of_mesh
from facefusion.faces.landmark.families import build_landmarker
from facefusion.faces.landmark.mesh import FaceMesh
from facefusion.faces.landmark.points import aligned_points, five_points
from facefusion.faces.mask.families import build_occluder, build_parser
from facefusion.faces.recognise.base import mean_embedding, unit
from facefusion.faces.recognise.families import FACE_RECOGNISERS, build_recogniser
from facefusion.vision.boxes import enclosing_box
from facefusion.vision.geometry import FACE_TEMPLATES, SquareRegion, fit_template, scale_of
from facefusion.vision.picture import BgrPicture
from tests.faces.stage import card
from tests.toys import hands as toy_hands
from tests.toys import heads

POINTS = FACE_TEMPLATES["arcface_112_v2"] * 40 + np.float32(10)
PICTURE = BgrPicture(np.full((64, 64, 3), 90, np.uint8))
NAMELESS = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, 1e-30, 1.0, -1.0, 0.5, 100.0, 1e19, -1e30, 3.4e38]
"""Values at which arithmetic of half or single precision ends."""

answers = st.one_of(st.sampled_from(NAMELESS), st.floats(width=32))


class Says:
    """A graph that gives the same whatever it is asked."""

    def __init__(self, inputs: Mapping[str, Shape], outputs: Mapping[str, npt.NDArray[np.floating]]) -> None:
        float32 = np.dtype(np.float32)
        self._outputs = {name: np.asarray(values, np.float32) for name, values in outputs.items()}
        self.signature = GraphSignature(
            {name: GraphValue(shape, float32) for name, shape in inputs.items()},
            {name: GraphValue(values.shape, float32) for name, values in self._outputs.items()},
        )

    def run(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return self._outputs


def yunet(row: Tensor) -> Says:
    """One find in the first cell of the finest grid: class, objectness, box and five points."""
    outputs = {
        name: np.zeros((1, 64 * 64 // int(name.rpartition("_")[2]) ** 2, shape[2] or 0))
        for name, shape in OUTPUTS.items()
    }
    for kind, values in zip(("cls", "obj", "bbox", "kps"), np.split(row, (1, 2, 6)), strict=True):
        outputs[f"{kind}_8"][0, 0] = values
    return Says({"input": (1, 3, None, None)}, outputs)


def scrfd(row: Tensor) -> Says:
    """One find at the first anchor of the finest grid: score, distances of edges and points."""
    widths = {"score": 1, "edges": 4, "points": 10}
    outputs = {
        f"{kind}{stride}": np.zeros((64 * 64 // stride**2, width))
        for kind, width in widths.items()
        for stride in (8, 16, 32)
    }
    for kind, values in zip(widths, np.split(row[1:], (1, 5)), strict=True):
        outputs[f"{kind}8"][0] = values
    return Says({"input": (1, 3, None, None)}, outputs)


def yolo_face(row: Tensor) -> Says:
    """One find: middle, size and score, then points that are all seen."""
    points = np.column_stack((row[6:].reshape(5, 2), np.ones(5))).ravel()
    find = np.concatenate((row[2:6], row[:1], points))
    return Says({"input": (1, 3, None, None)}, {"output": find[None, :, None]})


DETECTORS = {"yunet": yunet, "scrfd": scrfd, "yolo_face": yolo_face}


def test_every_detector_that_runs_a_graph_is_asked_here() -> None:
    assert DETECTORS.keys() == FACE_DETECTORS.keys() - {"many"}


@given(st.sampled_from(sorted(DETECTORS)), arrays(np.float32, 16, elements=answers))
def test_a_find_has_a_place_and_a_size_or_fails_by_the_detectors_name(family: str, row: Tensor) -> None:
    detector = build_detector(card(family), Bench(lambda _: DETECTORS[family](row)))
    try:
        with np.errstate(all="ignore"):
            found = detector.detect(np.zeros((64, 64, 3), np.uint8), 0.3)
    except InferenceError as error:
        assert error.fault.startswith(f"{family} ")
        return
    assert np.isfinite(found.boxes).all() and np.isfinite(found.points).all()
    assert (found.boxes[:, 2:] > found.boxes[:, :2]).all()


@pytest.mark.parametrize("family", DETECTORS)
def test_points_on_one_spot_are_no_face(family: str) -> None:
    row = np.array([1, 1, 2, 2, 2, 2, *[3] * 10], np.float32)
    detector = build_detector(card(family), Bench(lambda _: DETECTORS[family](row)))
    with pytest.raises(InferenceError, match=f"^{family} found a face that has no place or no size"):
        detector.detect(np.zeros((64, 64, 3), np.uint8), 0.3)


def test_a_score_that_is_no_number_is_not_taken_for_no_face() -> None:
    row = np.array([np.nan, 1, 2, 2, 2, 2, *range(10)], np.float32)
    with pytest.raises(InferenceError, match="yunet gave values that are no numbers"):
        build_detector(card("yunet"), Bench(lambda _: yunet(row))).detect(np.zeros((64, 64, 3), np.uint8), 0.3)


def test_no_find_is_a_find_that_is_checked() -> None:
    nobody = Detections(np.zeros((0, 4), np.float32), np.zeros(0, np.float32), np.zeros((0, 5, 2), np.float32))
    assert checked("toy", nobody) is nobody


def mesh_graph(mesh: Tensor, presence: float = 1.0) -> Says:
    return Says({"input": (1, 192, 192, 3)}, {"landmarks": mesh[None], "presence": np.array([[presence]])})


@pytest.mark.parametrize(("point", "axis"), [(0, 2), (100, 0), (477, 1)])
def test_no_point_of_a_mesh_is_nowhere(point: int, axis: int) -> None:
    """Neither in depth, nor among those that are not of the 68."""
    mesh = np.random.default_rng(1).uniform(40, 150, (478, 3)).astype(np.float32)
    mesh[point, axis] = 3.4e38
    landmarker = FaceMesh(card("mesh"), mesh_graph(mesh))
    with (
        np.errstate(all="ignore"),
        pytest.raises(InferenceError, match=r"^mesh laid the points of a face on one spot, or nowhere"),
    ):
        landmarker.read(PICTURE, SquareRegion(0.0, 20.0, 400.0, 0.3))


@given(st.lists(answers, min_size=3, max_size=9), st.floats(0.001, 1e6), st.floats(-1e6, 1e6))
def test_a_mesh_can_be_laid_on_a_template_or_fails_by_the_landmarkers_name(
    values: list[float], side: float, x: float
) -> None:
    landmarker = FaceMesh(card("mesh"), mesh_graph(np.resize(np.array(values, np.float32), (478, 3))))
    try:
        with np.errstate(all="ignore"):
            mesh = landmarker.read(PICTURE, SquareRegion(x, 20.0, side, 0.3)).mesh
    except InferenceError as error:
        assert error.fault.startswith("mesh ")
        return
    assert np.isfinite(mesh).all()
    region_of_mesh(mesh)
    for points in (five_points(mesh), aligned_points(Face(enclosing_box(mesh), 0.9, five_points(mesh), mesh))):
        assert np.isfinite(points).all()
    assert scale_of(fit_template(points, "arcface_112_v2", 112)) > 0


@pytest.mark.parametrize("collapsed", [0.0, 96.0])
def test_a_mesh_on_one_spot_is_no_face(collapsed: float) -> None:
    landmarker = FaceMesh(card("mesh"), mesh_graph(np.full((478, 3), collapsed)))
    with pytest.raises(InferenceError, match=r"^mesh laid the points of a face on one spot"):
        landmarker.read(PICTURE, SquareRegion(30.0, 30.0, 50.0, 0.0))


RECOGNISERS = {"arcface": ("input", 512), "sface": ("data", 128)}


def identity_graph(family: str, identity: Tensor) -> Says:
    name, _ = RECOGNISERS[family]
    return Says({name: (1, 3, 112, 112)}, {"embedding": identity[None]})


def test_every_recogniser_is_asked_here() -> None:
    assert RECOGNISERS.keys() == FACE_RECOGNISERS.keys()


@given(st.sampled_from(sorted(RECOGNISERS)), st.lists(answers, min_size=1, max_size=4))
def test_an_identity_has_length_one_or_fails_by_the_recognisers_name(family: str, values: list[float]) -> None:
    identity = np.resize(np.array(values, np.float32), RECOGNISERS[family][1])
    recogniser = build_recogniser(card(family), Bench(lambda _: identity_graph(family, identity)))
    try:
        embedding = recogniser.embed(PICTURE, POINTS)
    except InferenceError as error:
        assert error.fault.startswith(f"{family} gave ")
        assert not np.isfinite(identity).all() or not identity.any()
        return
    assert np.linalg.norm(embedding.astype(np.float64)) == pytest.approx(1.0, abs=1e-5)


@given(arrays(np.float32, st.integers(1, 9), elements=answers))
def test_a_vector_has_a_direction_unless_it_is_zero_or_no_numbers(vector: Tensor) -> None:
    if np.isfinite(vector).all() and vector.any():
        direction = unit(vector)
        assert direction.dtype == np.float32
        assert np.linalg.norm(direction.astype(np.float64)) == pytest.approx(1.0, abs=1e-5)
        assert (np.sign(direction) * np.sign(vector) >= 0).all()
    else:
        with pytest.raises(ValueError, match="no direction"):
            unit(vector)


def test_identities_that_cancel_out_have_no_mean() -> None:
    one = unit(np.array([3, 4], np.float32))
    with pytest.raises(InferenceError, match="2 pictures of one person have identities that cancel out"):
        mean_embedding([one, -one])


def test_traits_that_are_no_numbers_fail_by_the_classifiers_name() -> None:
    nothing = np.full((1, 1), np.nan)
    graph = Says({"input": (1, 3, 224, 224)}, {"race": np.ones((1, 1)), "gender": nothing, "age": np.ones((1, 1))})
    with pytest.raises(InferenceError, match=r"^fairface gave values that are no numbers"):
        build_classifier(card("fairface"), Bench(lambda _: graph)).classify(PICTURE, POINTS)


@given(
    arrays(np.float32, 16, elements=st.floats(-20, 20, width=32)), st.lists(answers, min_size=3, max_size=9), answers
)
def test_all_that_the_networks_of_a_face_give_ends_in_a_face_or_in_a_failure_with_a_name(
    row: Tensor, values: list[float], likeness: float
) -> None:
    row[:2] = 0.9
    mesh = np.resize(np.array(values, np.float32), (478, 3))
    search = FaceSearch(build_detector(card("yunet"), Bench(lambda _: yunet(row))))
    identity = np.zeros(128, np.float32)
    identity[3] = likeness
    recogniser = build_recogniser(card("sface"), Bench(lambda _: identity_graph("sface", identity)))
    analyser = FaceAnalyser(search, FaceMesh(card("mesh"), mesh_graph(mesh)), recogniser)
    try:
        with np.errstate(all="ignore"):
            faces = analyser.faces(PICTURE, recognise=True)
    except InferenceError as error:
        assert error.fault.partition(" ")[0] in ("yunet", "mesh", "sface")
        return
    for face in faces:
        assert face.embedding is not None
        assert np.isfinite(face.box).all()


def palms(row: Tensor) -> Says:
    """One find, surely a palm: middle, size and seven points."""
    numbers, logits = np.zeros((1, toy_hands.ANCHORS, 18)), np.full((1, toy_hands.ANCHORS, 1), -9.0)
    numbers[0, 900], logits[0, 900] = row, 9.0
    return Says({"input_1": (1, 192, 192, 3)}, {"numbers": numbers, "logits": logits})


def joints(values: Tensor) -> Says:
    told: Tensor = np.resize(values, (1, 63))
    return Says({"input_1": (1, 224, 224, 3)}, {"joints": told, "presence": np.ones((1, 1))})


@given(
    arrays(np.float32, 18, elements=st.one_of(st.floats(-60, 60, width=32), answers)),
    arrays(np.float32, st.integers(3, 63), elements=st.one_of(st.floats(0, 224, width=32), answers)),
)
def test_a_hand_can_be_drawn_or_fails_by_the_networks_name(row: Tensor, values: Tensor) -> None:
    finder = HandFinder(PalmDetector(card("palms"), palms(row)), HandJoints(card("joints"), joints(values)))
    try:
        with np.errstate(all="ignore"):
            found = finder.near(PICTURE, heads.mesh(centre=(32, 32), radius=20))
    except InferenceError as error:
        assert error.fault.partition(" ")[0] in ("palms", "joints")
        return
    for hand in found:
        assert draw_hand(hand, Size(64, 64)).shape == (64, 64)


@pytest.mark.parametrize("collapsed", [0.0, 96.0])
def test_joints_on_one_spot_are_no_hand(collapsed: float) -> None:
    reader = HandJoints(card("joints"), joints(np.full(63, collapsed)))
    with pytest.raises(InferenceError, match=r"^joints laid the joints of a hand on one spot, or nowhere"):
        reader.read(PICTURE, SquareRegion(30.0, 30.0, 50.0, 0.0))


def test_a_palm_beyond_all_bounds_is_no_palm() -> None:
    detector = PalmDetector(card("palms"), palms(np.full(18, 1e30)))
    with pytest.raises(InferenceError, match=r"^palms found a hand far beyond what it was shown"):
        detector.find(np.zeros((192, 192, 3), np.uint8))


@pytest.mark.parametrize(
    ("kind", "build"),
    [
        ("face_classifier", build_classifier),
        ("face_detector", build_detector),
        ("face_landmarker", build_landmarker),
        ("face_occluder", build_occluder),
        ("face_parser", build_parser),
        ("face_recognizer", build_recogniser),
    ],
)
def test_a_family_that_is_not_known_is_named(kind: str, build: object) -> None:
    assert callable(build)
    entry = replace(card("yunet"), name="mine", family="other", kind=kind)
    with pytest.raises(ModelError, match=r"the family other, which the|runs beside no model of the family mesh"):
        build(entry, Bench(lambda _: yunet(np.zeros(16, np.float32))))
