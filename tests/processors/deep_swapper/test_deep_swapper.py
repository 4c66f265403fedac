from __future__ import annotations

import cv2
import numpy as np
import pytest

from facefusion.catalogue.card import ModelCard
from facefusion.core.errors import InferenceError, ModelError
from facefusion.core.graph import GraphSignature, GraphValue
from facefusion.core.values import Size
from facefusion.faces.mask.base import OWN_FACE_MASKS
from facefusion.faces.mask.masker import FaceMasker
from facefusion.faces.settings import FaceMaskerSettings
from facefusion.observability.events import Notice
from facefusion.processors.base import Target, Workshop
from facefusion.processors.deep_swapper.network import DeepFace
from facefusion.processors.deep_swapper.processor import KIND
from facefusion.processors.deep_swapper.settings import DeepSwapperSettings
from facefusion.vision.colour_match import match_colours
from facefusion.vision.geometry import fit_template
from facefusion.vision.picture import BgrPicture
from tests.faces.fakes import cut
from tests.processors.fakes import RecordingSink, processed
from tests.toys.deep_faces import deep_face
from tests.toys.heard import Heard
from tests.toys.pooled import Toys
from tests.toys.scenes import face, smooth
from tests.toys.swappers import colour_swapper
from tests.toys.vague import VagueGraph

PIXELS = np.rint(smooth()).astype(np.uint8)
SIDE = 96
# At this size the crop has the frame's own pixels.
SEEN = face(160, 120, SIDE, template="dfl_whole_face")
MASKER = FaceMasker(FaceMaskerSettings(), OWN_FACE_MASKS)


def card(family="dfm"):
    return ModelCard("custom/toy", "deep_swapper", family, "none", "none", 2026, "made here", "custom/toy.dfm")


class Shop:
    """A deep swapper around a toy graph, with what the graph was given and what the user was told."""

    def __init__(self, toys, model=None, morph=100, masker=MASKER, family="dfm", **toy):
        self.sink = RecordingSink()
        self.graph = Heard(toys.run(model or deep_face(SIDE, **toy)))
        self.swapper = KIND.build(
            Workshop(
                settings=DeepSwapperSettings(deep_swapper_morph=morph),
                cards={"deep_swapper": card(family)},
                runner=lambda _: self.graph,
                companions={},
                sources=(),
                target=Target(Size(320, 240), 0.0, is_video=False),
                events=self.sink,
                masker=masker,
            )
        )

    def swap(self, pixels, *faces):
        picture = BgrPicture(pixels.copy())
        processed(self.swapper, picture, faces or (SEEN,), None)
        return picture.pixels


@pytest.fixture
def toys(tmp_path):
    with Toys(tmp_path) as made:
        yield made


def eroded(mask):
    """Two pixels off the rim: a cross of 3 x 3, which is OpenCV's ellipse of that size, twice."""
    for _ in range(2):
        padded = np.pad(mask, 1, constant_values=1)
        mask = np.minimum.reduce(
            [padded[1:-1, 1:-1], padded[:-2, 1:-1], padded[2:, 1:-1], padded[1:-1, :-2], padded[1:-1, 2:]]
        )
    return mask


def crop_of(pixels):
    return BgrPicture(pixels.copy()).warp(fit_template(SEEN.landmarks5, "dfl_whole_face", SIDE), Size(SIDE, SIDE))


def test_the_network_sees_the_crop_with_its_contours_stressed(toys):
    shop = Shop(toys)
    shop.swap(PIXELS)
    (given,) = shop.graph.inputs
    crop = crop_of(PIXELS).astype(float)
    kernel = np.exp(-0.5 * (np.arange(-8, 9) / 2.0) ** 2)
    kernel /= kernel.sum()
    soft = np.pad(crop, ((8, 8), (8, 8), (0, 0)), mode="reflect")
    soft = np.apply_along_axis(np.convolve, 0, soft, kernel, "valid")
    soft = np.apply_along_axis(np.convolve, 1, soft, kernel, "valid")
    expected = np.clip(1.75 * crop - 0.75 * soft, 0, 255) / 255
    assert given["in_face:0"].shape == (1, SIDE, SIDE, 3)
    np.testing.assert_allclose(given["in_face:0"][0], expected, atol=0.002)
    assert given["morph_value:0"].tolist() == [1]


def test_a_face_of_one_colour_is_shown_within_the_network_s_mask(toys):
    rows, columns = np.mgrid[:SIDE, :SIDE]
    disc = (np.hypot(rows - 47.5, columns - 47.5) < 30).astype(np.float32)
    half = (columns < 60).astype(np.float32)
    shop = Shop(toys, colour=(0.2, 0.4, 0.6), masks=(disc, half))
    result = shop.swap(PIXELS)
    # The crop's own pixels are the frame's: it begins at (160, 120) less half of its side.
    changed = result[72:168, 112:208].astype(float)
    drawn = np.broadcast_to(np.array((51, 102, 153), np.float32), (SIDE, SIDE, 3))
    coloured = match_colours(np.ascontiguousarray(drawn), crop_of(PIXELS))
    mask = cv2.GaussianBlur(eroded(np.minimum(disc, half)), (0, 0), 6.25)
    mask = np.minimum(mask, MASKER.before(cut(np.zeros((SIDE, SIDE, 3), np.uint8))))[..., None]
    expected = PIXELS[72:168, 112:208] * (1 - mask) + coloured * mask
    assert np.abs(changed - expected).max() < 1.01
    outside = np.ones(PIXELS.shape[:2], bool)
    outside[72:168, 112:208] = mask[..., 0] == 0
    assert (result[outside] == PIXELS[outside]).all()
    assert np.abs(changed - PIXELS[72:168, 112:208]).max() > 30


@pytest.mark.parametrize("morph", [0, 25, 100])
def test_morph_goes_part_of_the_way(toys, morph):
    shop = Shop(toys, colour=(0.2, 0.4, 0.6), morph=morph)
    shop.swap(PIXELS)
    assert shop.graph.inputs[0]["morph_value:0"].tolist() == pytest.approx([morph / 100])
    assert shop.sink.events == []


def test_a_model_without_morph_says_that_it_does_nothing(toys):
    shop = Shop(toys, model=deep_face(SIDE, morph=False), morph=40)
    shop.swap(PIXELS)
    assert list(shop.graph.inputs[0]) == ["in_face:0"]
    assert shop.sink.events == [Notice("The model custom/toy knows no morph: deep_swapper_morph = 40 does nothing.")]


def test_what_is_padded_away_stays(toys):
    masks = FaceMasker(FaceMaskerSettings(face_mask_padding=(0, 0, 50, 0), face_mask_types=()), OWN_FACE_MASKS)
    result = Shop(toys, colour=(0, 1, 0), masker=masks).swap(PIXELS)
    # The lower half, less half of the soft edge.
    assert (result[138:] == PIXELS[138:]).all()
    assert (result[85:110, 140:180] != PIXELS[85:110, 140:180]).any(axis=2).all()


@pytest.mark.parametrize(("batch", "runs"), [("n", [2]), (1, [1, 1])])
def test_faces_that_lie_apart_share_a_run_where_the_graph_takes_a_batch(toys, batch, runs):
    faces = [face(x, 120, 80, template="dfl_whole_face") for x in (80, 240)]
    shop = Shop(toys, colour=(0, 0, 1), batch=batch)
    together = shop.swap(PIXELS, *faces)
    assert [len(run["in_face:0"]) for run in shop.graph.inputs] == runs
    one_by_one = shop.swap(shop.swap(PIXELS, faces[0]), faces[1])
    np.testing.assert_array_equal(together, one_by_one)


def test_deep_pictures_keep_their_fractions(toys):
    deep = np.rint(smooth() * 257).astype(np.uint16)
    result = Shop(toys).swap(deep, face(160.5, 120, SIDE, angle=5, template="dfl_whole_face"))
    changed = (result != deep).any(axis=2)
    assert changed.sum() > 2000
    assert len(np.unique(result[changed] % 257)) == 257


@pytest.mark.parametrize("number", range(3))
def test_values_that_are_no_numbers_do_not_reach_the_picture(toys, number):
    masks = tuple(np.full((SIDE, SIDE), np.nan if number == one else 1, np.float32) for one in range(2))
    colour = (float("nan") if number == 2 else 0, 0, 0)
    picture = BgrPicture(PIXELS.copy())
    swapper = Shop(toys, colour=colour, masks=masks).swapper
    with pytest.raises(InferenceError, match="custom/toy gave values that are no numbers"):
        processed(swapper, picture, (SEEN,), None)
    np.testing.assert_array_equal(picture.pixels, PIXELS)


def test_the_model_is_the_one_that_the_user_names():
    assert KIND.models(DeepSwapperSettings(deep_swapper_model="custom/me")) == {"deep_swapper": "custom/me"}
    assert not KIND.needs_sources


def test_a_graph_of_another_kind_is_refused(toys):
    with pytest.raises(ModelError) as refused:
        Shop(toys, model=colour_swapper((512,), 64))
    assert str(refused.value) == (
        "custom/toy: the graph does not say the size of an input in_face:0. "
        "It is no DFM file as DeepFaceLab exports it: choose another model."
    )


@pytest.mark.parametrize("shape", [(1, 3, SIDE, SIDE), (1, SIDE + 2, SIDE, 3)])
def test_a_graph_that_takes_faces_of_another_layout_is_refused(shape):
    graph = VagueGraph({"in_face:0": shape}, [np.zeros(1, np.float32)] * 3)
    with pytest.raises(ModelError) as refused:
        DeepFace(card(), graph, 1.0)
    assert str(refused.value) == (
        f"custom/toy: the graph does not fit its family: expected the input in_face:0 as "
        f"1 x {SIDE} x {SIDE} x 3, found {' x '.join(map(str, shape))} of type float32. "
        "It is no DFM file as DeepFaceLab exports it: choose another model."
    )


@pytest.mark.parametrize(("side", "found"), [(1, "1 pixel by 1"), (63, "63 pixels by 63")])
def test_a_graph_whose_crops_hold_no_face_is_refused_before_it_runs(side, found):
    graph = VagueGraph({"in_face:0": (1, side, side, 3)}, [np.zeros(1, np.float32)] * 3)
    with pytest.raises(ModelError) as refused:
        DeepFace(card(), graph, 1.0)
    assert str(refused.value) == (
        f"custom/toy: the graph takes faces of {found}, and the least is 64. "
        "It is no DFM file as DeepFaceLab exports it: choose another model."
    )


class Shrinking:
    """A graph that gives a face of half the size."""

    def __init__(self):
        face, mask = (GraphValue((1, SIDE, SIDE, depth), np.dtype(np.float32)) for depth in (3, 1))
        self.signature = GraphSignature({"in_face:0": face}, {"first": mask, "face": face, "second": mask})

    def run(self, inputs):
        given = inputs["in_face:0"]
        return {"first": given[..., :1], "face": given[:, ::2, ::2], "second": given[..., :1]}

    def last_initializer(self):
        raise AssertionError("not asked for")


def test_a_face_of_another_size_is_refused():
    with pytest.raises(ModelError) as refused:
        DeepFace(card(), Shrinking(), 1.0).draw([crop_of(PIXELS)])
    assert str(refused.value) == (
        "custom/toy: the graph gave (1, 96, 96, 1), (1, 48, 48, 3) and (1, 96, 96, 1) for (1, 96, 96, 3). "
        "A DFM file gives a mask, a face and a mask of the size that it takes: export or fetch it again."
    )


def test_a_family_that_no_code_runs_is_named(toys):
    with pytest.raises(ModelError) as refused:
        Shop(toys, family="other")
    assert str(refused.value) == (
        "the model custom/toy belongs to the family other, which the deep swapper does not know. "
        "Choose a model of one of these families: dfm."
    )
