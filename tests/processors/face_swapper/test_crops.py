"""Taking crops apart and together, and counting colours as networks do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facefusion.catalogue.card import ModelCard
from facefusion.core.errors import ModelError
from facefusion.core.graph import GraphSignature, GraphValue
from facefusion.faces.normalisation import HALVES, IMAGENET, PLAIN
from facefusion.processors.face_swapper.families.crops import CropNetwork, join, split


def crop_of(side, seed, dtype):
    levels = np.random.default_rng(seed).uniform(0, 255, (side, side, 3))
    return levels.astype(dtype)


@given(st.integers(1, 12), st.integers(1, 6), st.integers(0, 9), st.sampled_from([np.uint8, np.float32]))
def test_what_is_split_is_joined_to_the_same(side, times, seed, dtype):
    crop = crop_of(side * times, seed, dtype)
    parts = split(crop, times)
    assert parts.shape == (times * times, side, side, 3)
    np.testing.assert_array_equal(join(parts, times), crop)


def test_a_part_is_every_nth_pixel():
    crop = crop_of(12, 1, np.uint8)
    parts = split(crop, 3)
    for number, part in enumerate(parts):
        row, column = divmod(number, 3)
        np.testing.assert_array_equal(part, crop[row::3, column::3])


@pytest.mark.parametrize("coding", [PLAIN, HALVES, IMAGENET])
@given(st.integers(0, 9))
def test_colours_come_back_to_a_ten_thousandth_of_a_level(coding, seed):
    parts = crop_of(8, seed, np.float32)[None]
    np.testing.assert_allclose(coding.decode(coding.encode(parts)), parts, atol=1e-4)


def test_red_comes_first_and_each_channel_has_its_own_numbers():
    blue_green_red = np.array((0, 51, 255), np.uint8).reshape(1, 1, 1, 3)
    expected = ((1 - 0.485) / 0.229, (0.2 - 0.456) / 0.224, -0.406 / 0.225)
    np.testing.assert_allclose(IMAGENET.encode(blue_green_red).ravel(), expected, rtol=1e-6)


def test_values_beyond_black_and_white_are_cut():
    beyond = np.array((-3, 0, 3), np.float32).reshape(1, 3, 1, 1)
    assert HALVES.decode(beyond).ravel().tolist() == [255, 127.5, 0]


def test_a_crop_that_is_only_read_stays_as_it_is():
    parts = crop_of(4, 2, np.float32)[None]
    parts.flags.writeable = False
    before = parts.copy()
    HALVES.encode(parts)
    np.testing.assert_array_equal(parts, before)


class Shrinking:
    """A graph that promises nothing of its output, and gives half the size."""

    def __init__(self):
        open_value = GraphValue((None, 3, None, None), np.dtype(np.float32))
        source = GraphValue((None, 512), np.dtype(np.float32))
        self.signature = GraphSignature({"target": open_value, "source": source}, {"output": open_value})

    def run(self, inputs):
        return {"output": inputs["target"][..., ::2, ::2]}

    def last_initializer(self):
        raise AssertionError("not asked for")


def test_a_result_of_another_size_is_refused():
    card = ModelCard(
        "toy", "face_swapper", "toy", "", "", 2026, "", "toy.onnx", numbers={"input_size": 8, "template": "arcface_128"}
    )
    network = CropNetwork(card, Shrinking(), (512,))
    with pytest.raises(ModelError) as refused:
        network.run([crop_of(8, 1, np.uint8)], np.zeros((1, 512), np.float32))
    assert str(refused.value) == (
        "toy: the graph does not fit its family: expected output 0 (output) as 1 x 3 x 8 x 8, found 1 x 3 x 4 x 4. "
        "Its file is another model than the catalogue says: delete it and fetch it with force-download, "
        "or bring the right one."
    )
