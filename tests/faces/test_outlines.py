"""68 points of faces, by toy landmarkers that find coloured dots where they were planted."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facefusion.catalogue.card import ModelCard
from facefusion.core.errors import InferenceError, ModelError
from facefusion.core.graph import TypedGraph
from facefusion.core.values import Face
from facefusion.faces.bench import Bench
from facefusion.faces.landmark import upright
from facefusion.faces.landmark.base import Outline
from facefusion.faces.landmark.estimate import OutlineEstimator
from facefusion.faces.landmark.families import build_landmarker, build_refiner
from facefusion.faces.landmark.fan import Fan
from facefusion.faces.landmark.many import ManyOutlines
from facefusion.faces.landmark.mesh import FaceMesh
from facefusion.faces.landmark.peppa_wutz import PeppaWutz
from facefusion.faces.landmark.points import SIXTY_EIGHT, aligned_points, five_of_sixty_eight, sixty_eight_points
from facefusion.faces.landmark.refine import OutlineRefiner, OutlineSmoother
from facefusion.vision.geometry import FACE_TEMPLATES, transform_points
from facefusion.vision.picture import BgrPicture
from tests.faces.stage import MeshGraph
from tests.toys import landmarkers
from tests.toys.heard import Heard
from tests.toys.pooled import Toys

GREY = 110


@pytest.fixture
def toys(tmp_path):
    with Toys(tmp_path) as made:
        yield made


def card(family="fan", name="toy", companions=(), **numbers):
    return ModelCard(name, "face_landmarker", family, "", "", 2026, "", None, numbers=numbers, companions=companions)


def turned_about(middle, degrees, points):
    """Points given from the middle of a face, turned clockwise in the picture."""
    angle = np.radians(degrees)
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return np.asarray(points, np.float64) @ turn + middle


FIVE = FACE_TEMPLATES["ffhq_512"].astype(np.float64) - 0.5
DOTS = np.array([(-0.22, -0.1), (0.05, 0.2), (0.24, -0.12)])
"""Blue, green and red, in sizes of the face from its middle."""

WEIGHTS = np.tile(np.array([0.0, 0, 1, 0, 0]), (68, 1))
"""All points on the nose, and the ends of the jaw line half a distance of the eyes beside them."""
WEIGHTS[0] = (1.5, -0.5, 0, 0, 0)
WEIGHTS[16] = (-0.5, 1.5, 0, 0, 0)


def planted(middle, size, degrees, width=640, height=480, grey=GREY):
    """A grey picture with three dots, the places of the dots, and the face that they are on."""
    dots = turned_about(middle, degrees, DOTS * size)
    y, x = np.mgrid[:height, :width]
    pixels = np.full((height, width, 3), float(grey))
    for channel, (left, top) in enumerate(dots):
        pixels[..., channel] += (250 - grey) * np.exp(-((x - left) ** 2 + (y - top) ** 2) / (2 * (size / 40) ** 2))
    five = turned_about(middle, degrees, FIVE * size).astype(np.float32)
    corners = turned_about(middle, degrees, np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)]) * size * 0.8)
    box = np.concatenate((corners.min(axis=0), corners.max(axis=0))).astype(np.float32)
    return BgrPicture(np.rint(pixels).astype(np.uint8)), dots, Face(box, 0.9, five)


def refiner(toys, reader, minimum=0.5):
    estimator = OutlineEstimator(card("fan_68_5"), toys.run(landmarkers.estimator(WEIGHTS)))
    return OutlineRefiner(reader, estimator, minimum)


def refined(reader, picture, face):
    (found,) = reader.refine(picture, [face])
    return found


def points_of(face):
    assert face.landmarks68 is not None
    return face.landmarks68


def readers(toys):
    return [
        Fan(card(), toys.run(landmarkers.fan())),
        Fan(card(), toys.run(landmarkers.fan(columns=2))),
        PeppaWutz(card(), toys.run(landmarkers.peppa_wutz())),
        PeppaWutz(card(), toys.run(landmarkers.peppa_wutz(flat=False))),
    ]


@pytest.mark.parametrize("kind", range(4))
@pytest.mark.parametrize(("x", "y", "size"), [(300.3, 240.7, 90), (320, 200, 260)])
def test_planted_points_are_found_at_every_angle(toys, kind, x, y, size):
    reader = refiner(toys, readers(toys)[kind])
    for degrees in (0, 10, 90, 100, 170, 180, 260, 270, 340):
        picture, dots, face = planted((x, y), size, degrees, 480, 420)
        found = refined(reader, picture, face)
        points = points_of(found)
        assert points.shape == (68, 2) and points.dtype == np.float32
        assert np.abs(points - dots[np.arange(68) % 3]).max() < 0.5
        np.testing.assert_array_equal(aligned_points(found), five_of_sixty_eight(points))


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
@pytest.mark.parametrize("tilt", [-40, 0, 40])
def test_the_network_sees_the_face_upright_to_a_quarter_turn(toys, turn, tilt):
    graph = Heard(toys.run(landmarkers.fan()))
    picture, _, face = planted((320, 240), 200, turn + tilt)
    refiner(toys, Fan(card(), graph)).refine(picture, [face])
    (image,) = graph.inputs[0]["input"]
    assert image.shape == (3, 256, 256) and image.dtype == np.float32
    assert abs(float(image[:, 2, 2].mean()) - GREY / 255) < 1e-6
    middles = [np.array(np.unravel_index(plane.argmax(), plane.shape))[::-1] for plane in image]
    scale = 195 / max(face.box[2] - face.box[0], face.box[3] - face.box[1])
    wanted = turned_about((128, 128), tilt, DOTS * 200 * scale)
    assert np.abs(np.array(middles) - wanted).max() < 1.5


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_the_crop_of_a_face_with_a_mesh_reaches_a_tenth_further_over_its_forehead(toys, turn):
    """A detector's box does; the box of a mesh ends below the hair."""
    graph = Heard(toys.run(landmarkers.fan()))
    picture, dots, face = planted((320, 240), 200, turn)
    mesh = np.zeros((478, 3), np.float32)
    refiner(toys, Fan(card(), graph)).refine(picture, [Face(face.box, 0.9, face.landmarks5, mesh)])
    (image,) = graph.inputs[0]["input"]
    middles = [np.array(np.unravel_index(plane.argmax(), plane.shape))[::-1] for plane in image]
    side = float(max(face.box[2] - face.box[0], face.box[3] - face.box[1]))
    middle = turned_about((320, 240), turn, [(0, -0.05 * side)])
    upright_dots = turned_about((0, 0), -turn, dots - middle)
    assert np.abs(np.array(middles) - (128 + upright_dots * 195 / (1.1 * side))).max() < 1.5


@given(degrees=st.floats(-360, 720), size=st.floats(5, 500))
def test_the_angle_is_the_nearest_quarter_turn_of_the_jaw_line(degrees, size):
    points = np.zeros((68, 2), np.float32)
    points[[0, 16]] = turned_about((50, 60), degrees, [(-size, 0), (size, 0)])
    found = upright.quarter_turn(points)
    assert found in (0, 90, 180, 270)
    assert abs((degrees - found + 180) % 360 - 180) <= 45.01


@given(
    left=st.floats(-200, 800),
    top=st.floats(-200, 800),
    width=st.floats(0.1, 900),
    height=st.floats(0.1, 900),
    turn=st.sampled_from([0, 90, 180, 270]),
)
def test_the_longer_side_of_the_box_takes_195_pixels_about_the_middle(left, top, width, height, turn):
    box = np.array((left, top, left + width, top + height), np.float32)
    to_crop = upright.upright_map(box, turn)
    corners = transform_points(to_crop, np.array([(left, top), (left + width, top + height)]))
    np.testing.assert_allclose(corners.mean(axis=0), (128, 128), atol=0.01)
    longest = np.abs(corners[1] - corners[0]).max()
    np.testing.assert_allclose(longest, 195 * min(1.0, max(width, height)), rtol=1e-3)


DOTTED = np.zeros((256, 256, 3), np.uint8)
for colour, place in enumerate((40, 120, 200)):
    DOTTED[100 + colour, place, colour] = 255


@pytest.mark.parametrize(("peak", "confidence"), [(0.0, 0.0), (0.45, 0.5), (0.9, 1.0), (1.2, 1.0)])
def test_the_confidence_of_fan_is_the_mean_peak_over_0_9(toys, peak, confidence):
    (outline,) = Fan(card(), toys.run(landmarkers.fan(peak))).read([DOTTED])
    assert outline.confidence == pytest.approx(confidence, abs=1e-5)


@pytest.mark.parametrize(("score", "confidence"), [(-0.1, 0.0), (0.38, 0.4), (0.95, 1.0), (1.2, 1.0)])
def test_the_confidence_of_peppa_wutz_is_the_mean_score_over_0_95(toys, score, confidence):
    (outline,) = PeppaWutz(card(), toys.run(landmarkers.peppa_wutz(score))).read([DOTTED])
    assert outline.confidence == pytest.approx(confidence, abs=1e-5)


@pytest.mark.parametrize(("second", "wins"), [(0.69, False), (0.71, True), (1.0, True), (0.3, False)])
def test_of_many_the_first_is_believed_unless_the_second_is_surer_by_0_2(second, wins):
    class Fixed:
        def __init__(self, confidence, x):
            self._outline = Outline(np.full((68, 2), x, np.float32), confidence)

        def read(self, crops):
            return [self._outline] * len(crops)

    found = ManyOutlines(card("many"), [Fixed(0.5, 1), Fixed(second, 2)]).read([np.zeros((256, 256, 3), np.uint8)] * 2)
    assert [outline.points[0, 0] for outline in found] == [2 if wins else 1] * 2


def test_a_landmarker_that_is_not_sure_is_not_believed(toys):
    picture, _, face = planted((320, 240), 200, 20)
    unsure = refiner(toys, Fan(card(), toys.run(landmarkers.fan(peak=0.4))))
    (found,) = unsure.refine(picture, [face])
    estimate = WEIGHTS @ face.landmarks5
    np.testing.assert_allclose(found.landmarks68, estimate, atol=0.01)
    np.testing.assert_array_equal(found.estimate68, found.landmarks68)
    mesh = np.random.default_rng(0).uniform(0, 400, (478, 3)).astype(np.float32)
    (meshed,) = unsure.refine(picture, [Face(face.box, 0.9, face.landmarks5, mesh)])
    assert meshed.landmarks68 is None
    np.testing.assert_allclose(meshed.estimate68, estimate, atol=0.01)
    np.testing.assert_array_equal(aligned_points(meshed), five_of_sixty_eight(sixty_eight_points(mesh)))


def test_several_faces_go_in_one_run_where_the_graphs_take_a_batch(toys):
    picture, dots, face = planted((200, 240), 120, 0)
    fan, estimator = toys.run(landmarkers.fan(batch="n")), toys.run(landmarkers.estimator(WEIGHTS, batch="n"))
    both = OutlineRefiner(Fan(card(), fan), OutlineEstimator(card("fan_68_5"), estimator), 0.5)
    wider = Face(face.box + np.array((-20, -20, 20, 20), np.float32), 0.9, face.landmarks5)
    found = both.refine(picture, [face, wider])
    assert [run["input"][0] for run in fan.runs] == [2] and [run["input"][0] for run in estimator.runs] == [2]
    for one in found:
        assert np.abs(one.landmarks68 - dots[np.arange(68) % 3]).max() < 0.5
    assert both.refine(picture, []) == []


@pytest.mark.parametrize(("batch", "runs"), [(1, [1] * 9), ("n", [4, 4, 1])])
def test_faces_of_several_pictures_share_runs_of_bounded_size(toys, batch, runs):
    places = [(200, 240), (230, 200), (260, 250)]
    scenes = [planted(place, 120, 10 * number) for number, place in enumerate(places)]
    fan, estimator = toys.run(landmarkers.fan(batch=batch)), toys.run(landmarkers.estimator(WEIGHTS, batch=batch))
    both = OutlineRefiner(Fan(card(), fan), OutlineEstimator(card("fan_68_5"), estimator), 0.5)
    faces = [[scenes[0][2]] * 4, [], [scenes[1][2]] * 3, [scenes[2][2]] * 2]
    pictures = [scenes[0][0], scenes[0][0], scenes[1][0], scenes[2][0]]
    found = both.refine_each(pictures, faces)
    assert [run["input"][0] for run in fan.runs] == [run["input"][0] for run in estimator.runs] == runs
    assert [len(some) for some in found] == [4, 0, 3, 2]
    for some, dots in zip((found[0], found[2], found[3]), (one[1] for one in scenes), strict=True):
        for face in some:
            assert np.abs(points_of(face) - dots[np.arange(68) % 3]).max() < 0.5


@pytest.mark.parametrize(("x", "y"), [(20, 240), (620, 240), (320, 15), (320, 470), (640, 480)])
def test_beyond_the_frame_the_network_sees_black(toys, x, y):
    graph = Heard(toys.run(landmarkers.fan()))
    picture, _, face = planted((x, y), 150, 0, grey=220)
    refiner(toys, Fan(card(), graph)).refine(picture, [face])
    image = graph.inputs[0]["input"][0].transpose(1, 2, 0)
    to_crop = upright.upright_map(face.box, 0)
    plain = cv2.warpAffine(np.full((480, 640), 1, np.uint8), to_crop, (256, 256))
    core = cv2.erode(plain, np.ones((5, 5), np.uint8), borderValue=1).astype(bool)
    beyond = cv2.dilate(plain, np.ones((5, 5), np.uint8)) == 0
    assert beyond.any() and core.any()
    assert (image[beyond] == 0).all() and (image[core] > 0.4).all()


@pytest.mark.parametrize(("grey", "raised"), [(20, True), (30, True), (34, False), (110, False)])
def test_a_dark_crop_is_given_contrast(toys, grey, raised):
    """Lightness 30 of 255 is a grey of 32."""
    graph = Heard(toys.run(landmarkers.fan(peak=0.0)))
    random = np.random.default_rng(0)
    pixels = (grey + random.integers(-3, 4, (480, 640, 1))).repeat(3, axis=2).astype(np.uint8)
    face = planted((320, 240), 195 / 0.8, 0)[2]
    refiner(toys, Fan(card(), graph)).refine(BgrPicture(pixels), [face])
    seen = graph.inputs[0]["input"][0].transpose(1, 2, 0) * 255
    plain = pixels[112:368, 192:448]
    assert seen.shape == plain.shape
    if not raised:
        np.testing.assert_allclose(seen, plain, atol=1e-3)
        return
    lab = cv2.cvtColor(plain, cv2.COLOR_RGB2LAB)
    lab[..., 0] = cv2.createCLAHE(2.0, (8, 8)).apply(lab[..., 0])
    np.testing.assert_allclose(seen, cv2.cvtColor(lab, cv2.COLOR_LAB2RGB), atol=1e-3)
    assert seen.std() > 2 * plain.std()


@given(
    x=st.floats(50, 300),
    y=st.floats(50, 300),
    size=st.floats(20, 300),
    degrees=st.floats(0, 360),
    seed=st.integers(0, 9),
)
def test_the_estimate_is_made_on_the_template_and_comes_back_into_the_frame(x, y, size, degrees, seed):
    weights = np.random.default_rng(seed).uniform(-1, 1, (68, 5))
    # Weights that add up to 1 make the same points in any frame.
    weights += (1 - weights.sum(axis=1, keepdims=True)) / 5
    given_points: list[np.ndarray] = []

    class Linear:
        signature = None

        def run_rows(self, name, rows):
            given_points.append(rows)
            return [(weights @ rows).astype(np.float32)]

    estimate = OutlineEstimator.__new__(OutlineEstimator)
    estimate._graph = Linear()  # type: ignore[assignment]
    five = turned_about((x, y), degrees, FIVE * size).astype(np.float32)
    (points,) = estimate.estimate([five])
    np.testing.assert_allclose(points, weights @ five, atol=size * 2e-3)
    np.testing.assert_allclose(given_points[0][0], FACE_TEMPLATES["ffhq_512"], atol=1e-4)


def test_a_graph_of_another_family_is_refused(toys):
    with pytest.raises(ModelError, match="expected 2 outputs, found 1"):
        Fan(card(), toys.run(landmarkers.peppa_wutz()))
    with pytest.raises(ModelError, match="expected the input input as 1 x 5 x 2"):
        OutlineEstimator(card("fan_68_5"), toys.run(landmarkers.fan()))
    with pytest.raises(ModelError, match="the graph gave 150 numbers for a face, expected 68 x 3"):
        PeppaWutz(card(), toys.run(landmarkers.peppa_wutz(count=50))).read([np.zeros((256, 256, 3), np.uint8)])


def bench(toys, *cards):
    graphs = {
        "fan": landmarkers.fan(),
        "peppa_wutz": landmarkers.peppa_wutz(),
        "fan_68_5": landmarkers.estimator(WEIGHTS),
    }
    made = {
        one.name: MeshGraph() if one.family == "mesh" else toys.run(graphs[one.family])
        for one in cards
        if one.family in (*graphs, "mesh")
    }
    return Bench(lambda one: cast("TypedGraph", made[one.name]), {one.name: one for one in cards})


def test_the_parts_are_found_among_what_an_entry_runs_beside(toys):
    mesh, estimate = card("mesh", "base"), card("fan_68_5", "guess")
    first, second = (card(family, family, ("base", "guess")) for family in ("fan", "peppa_wutz"))
    many = card("many", "many", ("fan", "peppa_wutz"))
    shop = bench(toys, mesh, estimate, first, second)
    picture, dots, face = planted((320, 240), 200, 90)
    for chosen in (first, second, many):
        assert isinstance(build_landmarker(chosen, shop), FaceMesh)
        made = build_refiner(chosen, shop, 0.5)
        assert made is not None
        assert np.abs(made.refine(picture, [face])[0].landmarks68 - dots[np.arange(68) % 3]).max() < 0.5
    assert isinstance(build_landmarker(mesh, shop), FaceMesh) and build_refiner(mesh, shop, 0.5) is None
    with pytest.raises(ModelError, match="The model catalogue is wrong: lone runs beside no model of the family mesh"):
        build_landmarker(card("fan", "lone"), shop)


def outlined(points, track=1, *, fresh=False):
    box = np.array((0, 0, 100, 100), np.float32)
    return Face(box, 0.9, np.zeros((5, 2), np.float32), landmarks68=points, track=track, fresh=fresh)


def test_trembling_points_are_held_still_and_moving_ones_followed():
    random = np.random.default_rng(1)
    rest = random.uniform(0, 100, (68, 2)).astype(np.float32)
    smoother, raw, steady = OutlineSmoother(), [], []
    for index in range(50):
        read = rest + random.normal(0, 1, (68, 2)).astype(np.float32)
        raw.append(read)
        steady.append(points_of(smoother.smooth([outlined(read, fresh=index == 0)], index / 25)[0]))
    assert np.std(steady[10:], axis=0).mean() < 0.6 * np.std(raw[10:], axis=0).mean()
    smoother = OutlineSmoother()
    lags = [
        np.abs(points_of(smoother.smooth([outlined(moved)], index / 25)[0]) - moved).max()
        for index, moved in enumerate(rest + np.float32(8 * step) for step in range(25))
    ]
    assert lags[-1] < 8


def test_points_glide_to_those_of_the_mesh_and_back_where_confidence_comes_and_goes():
    mesh = np.random.default_rng(2).uniform(0, 100, (478, 3)).astype(np.float32)
    mesh[SIXTY_EIGHT[42:48], 0] += 100  # the eye on the right
    of_mesh = sixty_eight_points(mesh)
    read = of_mesh + np.float32(2)
    smoother, last, leaps = OutlineSmoother(), read, []
    for index in range(40):
        face = replace(outlined(read if index % 2 == 0 else None), mesh=mesh)
        points = points_of(smoother.smooth([face], index / 25)[0])
        leaps.append(np.abs(points - last).max())
        last = points
    assert max(leaps[10:]) < 1.0
    assert np.abs(last - of_mesh - 1).max() < 0.6
    never = replace(outlined(None, track=2), mesh=mesh)
    assert smoother.smooth([never], 2.0) == [never]


def test_a_face_that_is_fresh_lost_or_without_points_starts_anew():
    rest = np.random.default_rng(1).uniform(0, 100, (68, 2)).astype(np.float32)
    smoother = OutlineSmoother()
    smoother.smooth([outlined(rest)], 0.0)
    np.testing.assert_array_equal(smoother.smooth([outlined(rest + 1, fresh=True)], 0.04)[0].landmarks68, rest + 1)
    assert np.abs(points_of(smoother.smooth([outlined(rest + 2)], 0.08)[0]) - (rest + 2)).max() > 0.1
    plain = outlined(None)
    assert smoother.smooth([plain], 0.12) == [plain]
    np.testing.assert_array_equal(smoother.smooth([outlined(rest + 3)], 0.16)[0].landmarks68, rest + 3)
    untracked = outlined(rest, track=None)
    assert smoother.smooth([untracked], 0.2)[0].landmarks68 is rest


@pytest.mark.parametrize("family", [Fan, PeppaWutz])
def test_points_on_one_spot_are_no_face_unless_the_landmarker_says_so_itself(toys, family):
    sure, unsure = (
        (landmarkers.fan(), landmarkers.fan(0.0))
        if family is Fan
        else (landmarkers.peppa_wutz(), landmarkers.peppa_wutz(-0.1))
    )
    black = np.zeros((256, 256, 3), np.uint8)
    with pytest.raises(InferenceError, match="toy laid the points of a face on one spot"):
        family(card(), toys.run(sure)).read([DOTTED, black])
    (outline,) = family(card(), toys.run(unsure)).read([black])
    assert outline.confidence == 0.0
