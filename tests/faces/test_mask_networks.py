"""Occluders and parsers, run for real on graphs whose answer can be computed by hand."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from onnx import TensorProto

from facefusion.core.errors import InferenceError, ModelError
from facefusion.faces.bench import Bench
from facefusion.faces.mask.bisenet import CLASSES, BiSeNet
from facefusion.faces.mask.families import build_occluder, build_parser
from facefusion.faces.mask.xseg import XSeg
from facefusion.faces.settings import MASK_REGIONS
from tests.faces.fakes import cut
from tests.toys import masks as toys
from tests.toys.pooled import Toys

REMEDY = (
    "Its file is another model than the catalogue says: delete it and fetch it with force-download, "
    "or bring the right one."
)


def crop(side=128, seed=1):
    """Soft colours, so that shrinking and growing them is told apart from reading the wrong ones."""
    noise = np.random.default_rng(seed).uniform(0, 255, (side, side, 3)).astype(np.float32)
    soft = cv2.GaussianBlur(noise, (0, 0), side / 16)
    return np.rint((soft - soft.min()) * (255 / np.ptp(soft))).astype(np.uint8)


def by_hand(pixels, channel=0, side=256):
    """What the toy occluder makes of a crop."""
    level = cv2.resize(pixels, (side, side))[..., channel].astype(np.float64) / 255
    return cv2.resize(np.clip(2 * level - 0.5, 0, 1), pixels.shape[1::-1])


def xseg(pool, numbers=None, **about):
    return XSeg(toys.card("xseg_1", "xseg", **numbers or {}), pool.run(toys.occluder(**about)))


def bisenet(pool, numbers=None, **about):
    return BiSeNet(
        toys.card("bisenet_resnet_34", "bisenet", "face_parser", **numbers or {}), pool.run(toys.parser(**about))
    )


class TestXSeg:
    @pytest.mark.parametrize("channel", [0, 1, 2])
    @pytest.mark.parametrize("side", [128, 256, 300])
    def test_takes_blue_green_red_and_gives_what_shows_the_face(self, tmp_path, channel, side):
        pixels = crop(side)
        with Toys(tmp_path) as pool:
            found = xseg(pool, channel=channel).uncovered([cut(pixels)])[0]
        assert (found.shape, found.dtype) == ((side, side), np.float32)
        assert (found.min(), found.max()) == (0, 1)
        np.testing.assert_allclose(found, by_hand(pixels, channel), atol=1e-6)

    @pytest.mark.parametrize(
        ("about", "numbers", "side"),
        [
            ({"side": "n"}, {}, 256),
            ({"side": "n"}, {"input_size": 64}, 64),
            ({"side": 192}, {"input_size": 64}, 192),
            ({"planar": True}, {}, 256),
            ({"planar": True, "side": 128}, {}, 128),
        ],
    )
    def test_size_and_layout_are_those_of_the_graph(self, tmp_path, about, numbers, side):
        pixels = crop(100)
        with Toys(tmp_path) as pool:
            found = xseg(pool, numbers, **about).uncovered([cut(pixels)])[0]
        np.testing.assert_allclose(found, by_hand(pixels, side=side), atol=1e-6)

    def test_half_precision_is_cast(self, tmp_path):
        pixels = crop(256)
        with Toys(tmp_path) as pool:
            found = xseg(pool, element=TensorProto.FLOAT16).uncovered([cut(pixels)])[0]
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, by_hand(pixels), atol=2e-3)

    def test_fractions_of_a_level_of_a_deep_crop_count(self, tmp_path):
        pixels = np.full((256, 256, 3), 127.25, np.float32)
        with Toys(tmp_path) as pool:
            found = xseg(pool).uncovered([cut(pixels)])[0]
        np.testing.assert_allclose(found, 2 * 127.25 / 255 - 0.5, atol=1e-6)

    def test_a_graph_of_another_family_is_refused(self, tmp_path):
        with Toys(tmp_path) as pool, pytest.raises(ModelError) as refused:
            XSeg(toys.card("xseg_1", "xseg"), pool.run(toys.parser()))
        assert str(refused.value) == (
            "xseg_1: the graph does not fit its family: expected output 0 (output) as 1 x 1 x any x any, found "
            f"1 x 19 x 512 x 512 of type float32. {REMEDY}"
        )

    def test_values_that_are_no_numbers_are_no_mask(self, tmp_path):
        pixels = np.full((256, 256, 3), np.nan, np.float32)
        with Toys(tmp_path) as pool:
            network = xseg(pool)
            with pytest.raises(InferenceError, match="xseg_1 gave values that are no numbers"):
                network.uncovered([cut(pixels)])


class TestBatches:
    @pytest.mark.parametrize(("batch", "runs"), [("n", [(3, 64, 64, 3)]), (1, [(1, 64, 64, 3)] * 3)])
    def test_crops_of_any_size_go_through_together_where_the_graph_takes_a_batch(self, tmp_path, batch, runs):
        crops = [crop(side, seed) for seed, side in enumerate((64, 100, 32))]
        with Toys(tmp_path) as pool:
            graph = pool.run(toys.occluder(side=64, batch=batch))
            found = XSeg(toys.card("xseg_1", "xseg"), graph).uncovered([cut(one) for one in crops])
        assert [run["input"] for run in graph.runs] == runs
        for mask, pixels in zip(found, crops, strict=True):
            np.testing.assert_allclose(mask, by_hand(pixels, side=64), atol=1e-6)

    def test_no_more_at_once_than_memory_is_meant_for(self, tmp_path):
        crops = [striped(512, 0)] * 6
        with Toys(tmp_path) as pool:
            graph = pool.run(toys.parser(batch="n"))
            found = BiSeNet(toys.card("bisenet_resnet_34", "bisenet", "face_parser"), graph).regions(
                [cut(one) for one in crops], frozenset(("nose",))
            )
        assert [run["input"] for run in graph.runs] == [(4, 3, 512, 512), (2, 3, 512, 512)]
        assert all((mask == found[0]).all() for mask in found)
        assert found[0].sum() == 512 * 27

    def test_of_no_crop_nothing_is_run(self, tmp_path):
        with Toys(tmp_path) as pool:
            graph = pool.run(toys.occluder())
            assert XSeg(toys.card("xseg_1", "xseg"), graph).uncovered([]) == []
        assert graph.runs == []


class TestMany:
    def test_is_what_all_its_companions_take_for_the_face(self, tmp_path):
        pixels = crop(256)
        channels = {"xseg_1": 0, "xseg_2": 1, "xseg_3": 2}
        with Toys(tmp_path) as pool:
            bench = Bench(
                lambda card: pool.run(toys.occluder(channels[card.name])),
                {name: toys.card(name, "xseg") for name in channels},
            )
            many = build_occluder(toys.card("many", "many", companions=tuple(channels)), bench)
            found = many.uncovered([cut(pixels)])[0]
        np.testing.assert_allclose(found, np.minimum.reduce([by_hand(pixels, c) for c in range(3)]), atol=1e-6)


def striped(side, channel):
    """A crop with a stripe for each class, in one colour channel (0 is red); the others say something else."""
    pixels = np.full((side, side, 3), 250, np.uint8)
    for number in range(toys.CLASSES):
        pixels[:, number * side // toys.CLASSES : (number + 1) * side // toys.CLASSES, 2 - channel] = toys.STEP * number
    return pixels


class TestBiSeNet:
    @pytest.mark.parametrize("channel", [0, 1, 2])
    @pytest.mark.parametrize("name", MASK_REGIONS)
    def test_a_region_is_the_pixels_of_its_class(self, tmp_path, channel, name):
        side = 512
        expected = np.zeros((side, side), np.float32)
        number = CLASSES[name]
        expected[:, number * side // toys.CLASSES : (number + 1) * side // toys.CLASSES] = 1
        with Toys(tmp_path) as pool:
            found = bisenet(pool, channel=channel).regions([cut(striped(side, channel))], frozenset((name,)))[0]
        np.testing.assert_array_equal(found, expected)

    def test_several_regions_are_joined_and_brought_to_the_size_of_the_crop(self, tmp_path):
        pixels = np.zeros((256, 256, 3), np.uint8)
        pixels[:100, :, 2] = toys.STEP * CLASSES["nose"]
        pixels[100:180, :, 2] = toys.STEP * CLASSES["lower-lip"]
        with Toys(tmp_path) as pool:
            found = bisenet(pool).regions([cut(pixels)], frozenset(("nose", "lower-lip")))[0]
        assert found.shape == (256, 256)
        assert (found[:99] == 1).all()
        assert (found[101:179] == 1).all()
        assert (found[181:] == 0).all()

    def test_of_no_region_nothing_is_shown(self, tmp_path):
        with Toys(tmp_path) as pool:
            network = bisenet(pool)
            assert (network.regions([cut(striped(512, 0))], frozenset())[0] == 0).all()

    def test_regions_are_the_classes_of_its_training(self):
        assert CLASSES == {
            "skin": 1,
            "left-eyebrow": 2,
            "right-eyebrow": 3,
            "left-eye": 4,
            "right-eye": 5,
            "glasses": 6,
            "nose": 10,
            "mouth": 11,
            "upper-lip": 12,
            "lower-lip": 13,
        }
        assert set(CLASSES) == set(MASK_REGIONS)

    @pytest.mark.parametrize(("side", "numbers", "seen"), [(96, {}, 96), ("n", {"input_size": 32}, 32)])
    def test_the_size_is_that_of_the_graph(self, tmp_path, side, numbers, seen):
        """A region of one pixel in a small graph is a whole block of the crop."""
        pixels = np.zeros((seen * 4, seen * 4, 3), np.uint8)
        pixels[40:44, 40:44, 2] = toys.STEP
        with Toys(tmp_path) as pool:
            found = bisenet(pool, numbers, side=side).regions([cut(pixels)], frozenset(("skin",)))[0]
        small = np.zeros((seen, seen), np.float32)
        small[10, 10] = 1
        np.testing.assert_allclose(found, cv2.resize(small, (seen * 4, seen * 4)), atol=1e-6)

    def test_a_graph_of_another_family_is_refused(self, tmp_path):
        name = "bisenet_resnet_18"
        with Toys(tmp_path) as pool, pytest.raises(ModelError) as refused:
            BiSeNet(toys.card(name, "bisenet", "face_parser"), pool.run(toys.occluder()))
        assert str(refused.value) == (
            f"bisenet_resnet_18: the graph does not fit its family: expected 14 classes or more, found 1. {REMEDY}"
        )


def test_families_are_built_from_their_entries(tmp_path):
    with Toys(tmp_path) as pool:
        occluder = build_occluder(toys.card("xseg_3", "xseg"), Bench(lambda _: pool.run(toys.occluder())))
        parser = build_parser(
            toys.card("bisenet_resnet_18", "bisenet", "face_parser"), Bench(lambda _: pool.run(toys.parser()))
        )
        assert isinstance(occluder, XSeg)
        assert isinstance(parser, BiSeNet)
