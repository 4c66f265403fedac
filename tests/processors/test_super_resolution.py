"""Tiles must not show, whatever their size."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facefusion.core.errors import InferenceError, ModelError
from facefusion.core.graph import GraphSignature, GraphValue
from facefusion.core.values import Size
from facefusion.processors.super_resolution import SuperResolution
from facefusion.vision.tiles import tiles
from tests.processors.fakes import NearestEnlarger, enlarger_card, noise


@given(width=st.integers(1, 90), height=st.integers(1, 90), side=st.integers(1, 40))
def test_tiles_cover_every_pixel_exactly_once(width: int, height: int, side: int) -> None:
    covered = np.zeros((height, width), int)
    for left, top, right, bottom in tiles(Size(width, height), side):
        assert 0 < right - left <= side
        assert 0 < bottom - top <= side
        covered[top:bottom, left:right] += 1
    assert (covered == 1).all()


@pytest.mark.parametrize("consumed", [0, 7])
@pytest.mark.parametrize("margin", [0, 5])
@pytest.mark.parametrize("tile", [1, 16, 23, 1000])
def test_enlarging_by_tiles_equals_enlarging_the_whole(consumed: int, margin: int, tile: int) -> None:
    picture = noise(37, 52)
    network = SuperResolution(enlarger_card(2, consumed, margin, tile), NearestEnlarger(2, consumed))
    expected = picture.repeat(2, axis=0).repeat(2, axis=1).astype(np.float32)
    np.testing.assert_allclose(network.enlarge([picture])[0], expected, atol=1e-4)


@pytest.mark.parametrize("batch", [1, None])
def test_tiles_of_several_pictures_share_runs_of_bounded_size(batch: int | None) -> None:
    runner = NearestEnlarger(2, 3, batch)
    pictures = [noise(20, 35, seed) for seed in range(6)]
    enlarged = SuperResolution(enlarger_card(2, 3, 4, 20), runner).enlarge(pictures)
    for picture, larger in zip(pictures, enlarged, strict=True):
        np.testing.assert_allclose(larger, picture.repeat(2, axis=0).repeat(2, axis=1), atol=1e-4)
    rows = [shape[0] for shape in runner.shapes]
    assert rows == ([1] * 12 if batch else [4, 2, 4, 2])


def test_no_pictures_run_nothing() -> None:
    runner = NearestEnlarger(2, 0)
    assert SuperResolution(enlarger_card(2, 0, 0, 8), runner).enlarge([]) == []
    assert runner.shapes == []


def test_the_network_sees_rgb_between_0_and_1() -> None:
    seen: list[np.ndarray] = []

    class Probe(NearestEnlarger):
        def run(self, inputs):
            seen.append(inputs["input"])
            return super().run(inputs)

    picture = np.full((4, 4, 3), (255, 51, 0), np.uint8)
    SuperResolution(enlarger_card(2, 0, 0, 8), Probe(2, 0)).enlarge([picture])
    np.testing.assert_allclose(seen[0][0, :, 0, 0], (0.0, 0.2, 1.0), atol=1e-6)
    assert seen[0].dtype == np.float32


def test_a_sized_picture_is_announced() -> None:
    network = SuperResolution(enlarger_card(4, 0, 0, 8), NearestEnlarger(4, 0))
    assert network.output_size(Size(3, 5)) == Size(12, 20)


def test_a_graph_of_another_family_is_refused() -> None:
    class Other(NearestEnlarger):
        signature = GraphSignature(
            NearestEnlarger.signature.inputs, {"mask": GraphValue((1, 1, None, None), np.dtype(np.float32))}
        )

    with pytest.raises(ModelError) as refused:
        SuperResolution(enlarger_card(2, 0, 0, 8), Other(2, 0))
    assert refused.value.fault == (
        "toy: the graph does not fit its family: expected output 0 (mask) as 1 x 3 x any x any, "
        "found 1 x 1 x any x any of type float32"
    )


def test_a_graph_that_takes_tiles_of_one_size_alone_is_refused() -> None:
    class Fixed(NearestEnlarger):
        signature = GraphSignature(
            {"input": GraphValue((1, 3, None, 512), np.dtype(np.float32))}, NearestEnlarger.signature.outputs
        )

    with pytest.raises(ModelError, match=r"toy: the graph does not fit .* tiles of any size, found any x 512"):
        SuperResolution(enlarger_card(2, 0, 0, 8), Fixed(2, 0))


def test_a_graph_that_enlarges_by_another_factor_is_refused() -> None:
    network = SuperResolution(enlarger_card(2, 0, 0, 8), NearestEnlarger(4, 0))
    with pytest.raises(ModelError) as refused:
        network.enlarge([noise(5, 6)])
    assert refused.value.fault == "toy: the graph gave (1, 3, 20, 24) for a tile of (1, 3, 5, 6)"


def test_values_that_are_no_numbers_are_no_picture() -> None:
    class Overflown(NearestEnlarger):
        def run(self, inputs):
            return {"output": np.full_like(super().run(inputs)["output"], np.inf)}

    network = SuperResolution(enlarger_card(2, 0, 0, 8), Overflown(2, 0))
    with pytest.raises(InferenceError, match="toy gave values that are no numbers"):
        network.enlarge([noise(5, 6)])
