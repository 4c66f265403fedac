"""From settings to the masks of a processor."""

from __future__ import annotations

import numpy as np
import pytest

from facefusion.app.faces import build_masker, check_padding, mask_models
from facefusion.cli.application import load_application
from facefusion.cli.main import program_schema
from facefusion.config.state import Snapshot
from facefusion.core.errors import UsageError
from facefusion.faces.bench import Bench
from facefusion.faces.mask.base import NO_MASKS, SEAM_MASKS, SWAP_MASKS
from facefusion.faces.mask.curve import soften_inward
from tests.faces.fakes import cut
from tests.toys import masks as toys
from tests.toys.pooled import Toys

ALL = ("box", "occlusion", "area", "region")


def snapshot(**values):
    return Snapshot(program_schema(load_application()), {}, {}).with_values(values)


@pytest.mark.parametrize(
    ("use", "types", "models"),
    [
        (SWAP_MASKS, ("box", "area"), {}),
        (SWAP_MASKS, ALL, {"face_occluder": "xseg_2", "face_parser": "bisenet_resnet_18"}),
        (SEAM_MASKS, ALL, {"face_occluder": "xseg_2"}),
        (NO_MASKS, ALL, {}),
    ],
)
def test_a_model_is_asked_for_only_where_a_processor_heeds_its_mask(use, types, models):
    chosen = snapshot(face_mask_types=types, face_occluder_model="xseg_2", face_parser_model="bisenet_resnet_18")
    assert mask_models(chosen, use) == models


@pytest.mark.parametrize(
    ("padding", "sides"),
    [
        ((100,), "100 percent from the top and 100 from the bottom"),
        ((60, 0, 40, 0), "60 percent from the top and 40 from the bottom"),
        ((0, 30, 0, 70), "70 percent from the left and 30 from the right"),
    ],
)
def test_a_padding_that_leaves_nothing_of_a_face_is_refused(padding, sides):
    with pytest.raises(UsageError) as refused:
        check_padding(snapshot(face_mask_padding=padding), [NO_MASKS, SWAP_MASKS])
    assert str(refused.value) == (
        f"face_mask_padding = {' '.join(map(str, padding))}: {sides} leave nothing of a face to change. "
        "Give numbers whose sums are below 100: top and bottom, left and right."
    )


@pytest.mark.parametrize(
    ("use", "about"),
    [
        (SWAP_MASKS, {"face_mask_padding": (60, 0, 39, 99)}),
        (SWAP_MASKS, {"face_mask_padding": (100,), "face_mask_types": ("area",)}),
        (SEAM_MASKS, {"face_mask_padding": (100,)}),
        (NO_MASKS, {"face_mask_padding": (100,)}),
    ],
)
def test_a_padding_that_leaves_something_or_that_nobody_heeds_is_taken(use, about):
    check_padding(snapshot(**about), [use])


def test_the_masker_gets_the_networks_of_the_models_chosen(tmp_path):
    chosen = snapshot(face_mask_types=("occlusion", "region"), face_mask_regions=("nose",))
    cards = {
        "face_occluder": toys.card("xseg_1", "xseg"),
        "face_parser": toys.card("bisenet_resnet_34", "bisenet", "face_parser"),
    }
    crop = np.zeros((256, 256, 3), np.uint8)
    crop[:100, :, 0] = 255
    crop[:, :150, 2] = 10 * toys.STEP
    with Toys(tmp_path) as pool:
        graphs = {"xseg_1": toys.occluder(), "bisenet_resnet_34": toys.parser(side=256)}
        made = build_masker(chosen, SWAP_MASKS, cards, Bench(lambda card: pool.run(graphs[card.name])))
        before, after = made.before(cut(crop)), made.after(cut(crop))
    upper, left = np.zeros((2, 256, 256), np.float32)
    upper[:100] = 1
    left[:, :150] = 1
    np.testing.assert_allclose(before, soften_inward(upper), atol=1e-5)
    np.testing.assert_allclose(after, soften_inward(left), atol=1e-5)


def test_without_a_mask_that_needs_one_no_graph_is_touched():
    made = build_masker(snapshot(), SWAP_MASKS, {}, Bench(lambda card: pytest.fail("a graph was asked for")))
    assert made.before(cut(np.zeros((8, 8, 3), np.uint8))).shape == (8, 8)
