"""Face restoration networks, by toy graphs with the same inputs and outputs whose answer is plain."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from onnx import TensorProto

from facefusion.catalogue.card import ModelCard
from facefusion.core.errors import InferenceError, ModelError
from facefusion.core.values import Face, Size
from facefusion.faces.mask.box import Padding, box_mask
from facefusion.observability.events import Notice
from facefusion.processors.base import Scene, Target, Workshop
from facefusion.processors.face_enhancer.families.restoration import Restoration
from facefusion.processors.face_enhancer.processor import KIND
from facefusion.processors.face_enhancer.settings import FaceEnhancerSettings
from facefusion.vision.colour import Coding, Matrix
from facefusion.vision.geometry import FACE_TEMPLATES, invert, transform_points
from facefusion.vision.picture import BgrPicture, Layout, YuvPicture
from tests.faces.fakes import cut
from tests.processors.fakes import RecordingSink
from tests.toys.enhancers import restorer
from tests.toys.pooled import Toys

SIDE = 128


@pytest.fixture
def toys(tmp_path):
    with Toys(tmp_path) as made:
        yield made


def card(side=SIDE, template="ffhq_512"):
    numbers = {"input_size": side, "template": template}
    return ModelCard("toy", "face_enhancer", "restoration", "", "", 2026, "", "toy.onnx", numbers=numbers)


def seam(crops):
    return [box_mask(crop.size, 0.3, Padding()) for crop in crops]


def similarity(scale, angle, x, y):
    """From the frame into a crop in which the frame's point (x, y) lies in the middle."""
    linear = scale * np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return np.column_stack((linear, np.full(2, (SIDE - 1) / 2) - linear @ (x, y)))


def face_at(frame_to_crop, template="ffhq_512"):
    """A face that lies exactly on the template in that crop."""
    points = transform_points(invert(frame_to_crop), FACE_TEMPLATES[template].astype(np.float64) * SIDE)
    box = np.concatenate((points.min(axis=0), points.max(axis=0)))
    return Face(box.astype(np.float32), 0.9, points.astype(np.float32))


def waves(width=360, height=300):
    """A picture without detail finer than some pixels."""
    y, x = np.mgrid[:height, :width]
    planes = [np.sin(x / 17 + y / 23), np.sin(x / 29 - y / 19 + 1), np.sin(x / 13 + 2) * np.sin(y / 21)]
    return np.rint(128 + 60 * np.stack(planes, axis=-1)).astype(np.uint8)


def mask_in_frame(frame_to_crop, shape):
    """The mask in the frame by plain warping, as paste-back is defined."""
    height, width = shape[:2]
    (mask,) = seam([cut(np.zeros((SIDE, SIDE, 3), np.uint8))])
    return cv2.warpAffine(mask, frame_to_crop, (width, height), flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP)


PLACES = [similarity(1.0, 0.0, 150, 140), similarity(0.8, 0.5, 180.3, 150.7), similarity(1.3, -2.0, 120, 160.5)]


@pytest.mark.parametrize("place", PLACES)
def test_a_network_that_changes_nothing_leaves_the_face_and_all_else(toys, place):
    pixels = waves()
    picture = BgrPicture(pixels.copy())
    Restoration(card(), toys.run(restorer(SIDE)), 0.5, seam, 1.0).enhance([Scene(picture, (face_at(place),), None)])
    assert np.abs(picture.pixels.astype(int) - pixels).max() <= 2
    outside = cv2.dilate(mask_in_frame(place, pixels.shape), np.ones((5, 5))) == 0
    assert outside.mean() > 0.5
    np.testing.assert_array_equal(picture.pixels[outside], pixels[outside])


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("blend", [1.0, 0.8, 0.25, 0.0])
def test_what_the_network_draws_is_mixed_in_by_mask_and_blend(toys, place, blend):
    """Red first: gain 0 and offsets of -1, 0, 1 are red 0, green 127.5, blue 255."""
    graph = toys.run(restorer(SIDE, gain=(0, 0, 0), offset=(-1, 0, 1)))
    pixels = waves()
    picture = BgrPicture(pixels.copy())
    Restoration(card(), graph, 0.5, seam, blend).enhance([Scene(picture, (face_at(place),), None)])
    share = mask_in_frame(place, pixels.shape)[..., None] * blend
    wanted = pixels * (1 - share) + np.array([255, 128, 0]) * share
    assert np.abs(picture.pixels - wanted).max() <= 5
    inner = np.abs(picture.pixels - wanted)[mask_in_frame(place, pixels.shape) > 0.999]
    assert inner.max() <= 1


def test_red_green_and_blue_reach_the_network_in_its_order_and_scale(toys):
    graph = toys.run(restorer(SIDE, gain=(-1, 0.5, 1), offset=(0, 0, 0.25)))
    picture = BgrPicture(np.full((200, 200, 3), (51, 204, 30), np.uint8))
    Restoration(card(), graph, 0.5, seam, 1.0).enhance([Scene(picture, (face_at(similarity(1, 0, 100, 100)),), None)])
    blue = (51 / 127.5 - 1 + 0.25 + 1) * 127.5
    green = ((204 / 127.5 - 1) / 2 + 1) * 127.5
    assert picture.pixels[100, 100].tolist() == [round(blue), round(green), 225]


def test_values_beyond_the_scale_are_cut(toys):
    graph = toys.run(restorer(SIDE, offset=(5, -5, 0)))
    picture = BgrPicture(np.full((200, 200, 3), 100, np.uint8))
    Restoration(card(), graph, 0.5, seam, 1.0).enhance([Scene(picture, (face_at(similarity(1, 0, 100, 100)),), None)])
    assert picture.pixels[100, 100].tolist() == [100, 0, 255]


@pytest.mark.parametrize("weight", [(TensorProto.DOUBLE, (1,)), (TensorProto.DOUBLE, ()), (TensorProto.FLOAT, ("n",))])
@pytest.mark.parametrize("value", [0.0, 0.3, 1.0])
def test_the_weight_reaches_a_graph_that_has_one(toys, weight, value):
    graph = toys.run(restorer(SIDE, gain=(0, 0, 0), offset=(1, 1, 1), weight=weight))
    picture = BgrPicture(np.full((200, 200, 3), 100, np.uint8))
    Restoration(card(), graph, value, seam, 1.0).enhance([Scene(picture, (face_at(similarity(1, 0, 100, 100)),), None)])
    assert picture.pixels[100, 100].tolist() == [round((value + 1) * 127.5)] * 3


def test_a_half_precision_graph_gets_what_it_declares(toys):
    graph = toys.run(restorer(SIDE, dtype=TensorProto.FLOAT16))
    pixels = waves()
    picture = BgrPicture(pixels.copy())
    Restoration(card(), graph, 0.5, seam, 1.0).enhance([Scene(picture, (face_at(PLACES[0]),), None)])
    assert np.abs(picture.pixels.astype(int) - pixels).max() <= 2


ROW = [similarity(1.0, 0.1, x, 140) for x in (120, 340, 560, 780, 1000, 430)]
"""Five places apart from each other, and one that overlaps two of them."""


@pytest.mark.parametrize(("batch", "runs"), [(1, [1] * 6), ("n", [4, 1, 1])])
def test_faces_share_a_run_where_the_graph_takes_a_batch_and_look_the_same(toys, batch, runs):
    """Of two faces that overlap, the second is cut out of what the first became, whoever shares its run."""
    graph = toys.run(restorer(SIDE, gain=(-1, -1, -1), batch=batch))
    pixels = waves(1120, 280)
    picture, alone = BgrPicture(pixels.copy()), BgrPicture(pixels.copy())
    family = Restoration(card(), graph, 0.5, seam, 1.0)
    family.enhance([Scene(picture, [face_at(place) for place in ROW], None)])
    assert [run["input"][0] for run in graph.runs] == runs
    for place in ROW:
        family.enhance([Scene(alone, [face_at(place)], None)])
    np.testing.assert_array_equal(picture.pixels, alone.pixels)
    wanted = pixels.astype(float)
    for place in ROW:
        share = mask_in_frame(place, pixels.shape)[..., None]
        wanted = wanted * (1 - share) + (255.0 - wanted) * share
    assert np.abs(picture.pixels - wanted).max() <= 5


def test_many_faces_go_in_runs_of_limited_size(toys):
    graph = toys.run(restorer(512, batch="n"))
    faces = [face_at(similarity(4.0, 0.1, x, 140)) for x in range(120, 1120, 220)]
    Restoration(card(512), graph, 0.5, seam, 1.0).enhance([Scene(BgrPicture(waves(1120, 280)), faces, None)])
    assert [run["input"][0] for run in graph.runs] == [4, 1]


def test_a_frame_without_faces_runs_nothing(toys):
    graph = toys.run(restorer(SIDE))
    Restoration(card(), graph, 0.5, seam, 1.0).enhance([Scene(BgrPicture(waves()), (), None)])
    assert graph.runs == []


def test_each_template_is_where_the_face_is_laid(toys):
    """A crop on the template, moved by a fit to another one, would not be pasted where the mask is expected."""
    for template in ("arcface_128", "ffhq_512"):
        graph = toys.run(restorer(SIDE, gain=(0, 0, 0), offset=(1, 1, 1)))
        picture = BgrPicture(np.zeros((300, 360, 3), np.uint8))
        Restoration(card(template=template), graph, 0.5, seam, 1.0).enhance(
            [Scene(picture, (face_at(PLACES[1], template),), None)]
        )
        wanted = 255 * mask_in_frame(PLACES[1], (300, 360))
        assert np.abs(picture.pixels[..., 0] - wanted).max() <= 5


def test_ten_bits_keep_their_fractions(toys):
    """On a ramp finer than 8 bits, no 8-bit step shows."""
    layout = Layout(Coding(Matrix.BT709, full_range=False, bit_depth=10), 2, 2)
    ramp = np.rint(np.linspace(400, 480, 360)).astype(np.uint16)[None].repeat(300, axis=0)
    neutral = np.full((150, 180), 512, np.uint16)
    picture = YuvPicture((ramp.copy(), neutral.copy(), neutral.copy()), layout)
    place = similarity(1.0, 0.0, 150.5, 139.5)
    Restoration(card(), toys.run(restorer(SIDE)), 0.5, seam, 1.0).enhance([Scene(picture, (face_at(place),), None)])
    assert np.abs(picture.planes[0].astype(int) - ramp).max() <= 1
    assert np.abs(picture.planes[1].astype(int) - 512).max() <= 1


@pytest.mark.parametrize(
    ("graph", "fault"),
    [
        (
            restorer(64),
            "toy: the graph does not fit its family: expected the input input as 1 x 3 x 128 x 128, found "
            "1 x 3 x 64 x 64 of type float32",
        ),
        (
            restorer(SIDE, weight=(TensorProto.DOUBLE, (2,))),
            "toy: the graph does not fit its family: expected the input weight as 1, found 2 of type float64",
        ),
    ],
)
def test_a_graph_of_another_family_is_refused(toys, graph, fault):
    with pytest.raises(ModelError) as refused:
        Restoration(card(), toys.run(graph), 0.5, seam, 1.0)
    assert refused.value.fault == fault


def test_a_result_of_another_size_is_refused(toys):
    family = Restoration(card(), toys.run(restorer("any", shrunk=True)), 0.5, seam, 1.0)
    with pytest.raises(ModelError) as refused:
        family.enhance([Scene(BgrPicture(waves()), (face_at(PLACES[0]),), None)])
    assert refused.value.fault == (
        "toy: the graph does not fit its family: expected output 0 (small) as 1 x 3 x 128 x 128, found 1 x 3 x 64 x 64"
    )


@pytest.mark.parametrize(
    ("declared", "weight", "said"),
    [
        (None, 0.75, ["The model toy knows no weight: face_enhancer_weight = 0.75 does nothing."]),
        (None, 0.5, []),
        ((TensorProto.DOUBLE, (1,)), 0.75, []),
    ],
)
def test_a_weight_that_does_nothing_is_said(toys, declared, weight, said):
    sink = RecordingSink()
    KIND.build(
        Workshop(
            settings=FaceEnhancerSettings(face_enhancer_weight=weight),
            cards={"face_enhancer": card()},
            runner=lambda _: toys.run(restorer(SIDE, weight=declared)),
            companions={},
            sources=(),
            target=Target(Size(320, 240), 0.0, is_video=False),
            events=sink,
        )
    )
    assert sink.events == [Notice(text) for text in said]


def test_what_are_no_numbers_is_no_face(toys):
    graph = toys.run(restorer(SIDE, offset=(0, float("nan"), 0)))
    picture = BgrPicture(waves())
    with pytest.raises(InferenceError, match="toy gave values that are no numbers"):
        Restoration(card(), graph, 0.5, seam, 1.0).enhance([Scene(picture, (face_at(PLACES[0]),), None)])
    np.testing.assert_array_equal(picture.pixels, waves())


@pytest.mark.parametrize("template", ["ffhq_1024", None, 3])
def test_an_entry_without_a_template_is_refused(toys, template):
    with pytest.raises(ModelError, match=f"Model toy: template is {template!r} in the catalogue"):
        Restoration(card(template=template), toys.run(restorer(SIDE)), 0.5, seam, 1.0)
