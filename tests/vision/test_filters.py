from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facefusion.core.values import Size
from facefusion.vision import filters


@given(st.floats(-1e3, 1e3, width=32), st.floats(-10, 10), st.floats(0.01, 10))
def test_smooth_step_stays_in_bounds_and_agrees_with_its_scalar_form(value, low, width):
    step = filters.smooth_step(np.array([value], np.float32), low, low + width)[0]
    assert 0 <= step <= 1
    assert step == pytest.approx(filters.smooth_ramp(float(np.float32(value)), low, low + width), abs=2e-2)


def test_smooth_step_is_flat_outside_and_half_in_the_middle():
    steps = filters.smooth_step(np.array((-1, 2, 3, 4, 9), np.float32), 2, 4)
    assert steps.tolist() == [0, 0, 0.5, 1, 1]


def test_weighted_blur_ignores_what_has_no_weight():
    values = np.full((32, 32, 3), 7, np.float32)
    weights = np.ones((32, 32), np.float32)
    values[8:24, 8:24], weights[8:24, 8:24] = 1e3, 0
    mean, support = filters.weighted_blur(values, weights, 6)
    assert mean == pytest.approx(7, abs=0.02)
    assert support[16, 16] < 0.5 < support[0, 0]


def test_filling_keeps_what_is_known_and_takes_the_rest_from_nearby():
    rng = np.random.default_rng(0)
    values = rng.uniform(0, 100, (64, 64, 2)).astype(np.float32)
    weights = (rng.uniform(size=(64, 64)) > 0.7).astype(np.float32)
    weights[20:44, 20:44] = 0
    filled = filters.fill_gaps(values * weights[..., None], weights)
    known = weights == 1
    assert filled[known] == pytest.approx(values[known], abs=1e-3)
    assert filled.min() > 0
    assert filled.max() < 100


def test_filling_a_constant_gives_the_constant():
    weights = np.zeros((40, 56), np.float32)
    weights[3, 5] = weights[30, 50] = 1
    assert filters.fill_gaps(np.full((40, 56, 3), 42, np.float32), weights) == pytest.approx(42, abs=0.1)


def test_growth_reaches_what_is_connected_and_nothing_else():
    limits = np.zeros((9, 20), np.float32)
    limits[4, 2:9], limits[4, 12:18] = 1, 1
    limits[3, 8] = 0.5
    seeds = np.zeros_like(limits)
    seeds[4, 2] = 1
    grown = filters.grow_within(seeds, limits, 20)
    assert grown[4, 2:9].tolist() == [1] * 7
    assert grown[3, 8] == pytest.approx(0.5, abs=1 / 255)
    assert not grown[4, 12:].any()


def test_growth_takes_one_pixel_a_step():
    limits = np.ones((1, 30), np.float32)
    seeds = np.zeros_like(limits)
    seeds[0, 0] = 1
    assert filters.grow_within(seeds, limits, 5).sum() == 6


def test_resizing_down_is_the_mean():
    values = np.arange(64, dtype=np.float32).reshape(8, 8)
    assert filters.resize(values, Size(4, 4))[0].tolist() == [4.5, 6.5, 8.5, 10.5]
    assert filters.resize(values, Size(8, 8)) is values


def test_quantising_clips_and_rounds():
    assert filters.quantise(np.array([[-1, 0, 0.5, 1, 2]], np.float32)).tolist() == [[0, 0, 128, 255, 255]]


def test_sampling_between_pixels_is_linear_and_keeps_the_type():
    picture = np.array([[0, 100], [0, 100]], np.uint8)
    read = filters.sample(picture, np.array([[0.25, 5]], np.float32), np.array([[0.5, 0]], np.float32))
    assert read.tolist() == [[25, 100]]
    assert read.dtype == np.uint8


@given(count=st.integers(1, 40), seed=st.integers(0, 1000))
def test_the_median_is_that_of_numpy_to_the_bit(count: int, seed: int) -> None:
    samples = np.random.default_rng(seed).normal(size=(count, 3)).astype(np.float32)
    found = filters.median(samples)
    assert found.dtype == np.float32
    assert found.tobytes() == np.median(samples, axis=0).tobytes()
    assert filters.median(samples[:, 0]) == np.median(samples[:, 0])


@given(seed=st.integers(0, 1000), steps=st.integers(0, 12))
def test_growth_is_the_same_whether_it_ends_early_or_not(seed: int, steps: int) -> None:
    """Seeds may lie above their limits: they stay, and nothing grows from them beyond the limits of others."""
    random = np.random.default_rng(seed)
    seeds = (random.uniform(size=(9, 9)) ** 6).astype(np.float32)
    limits = random.uniform(size=(9, 9)).astype(np.float32)
    grown, bound = filters.quantise(seeds), filters.quantise(limits)
    for _ in range(steps):
        grown = np.maximum(grown, np.minimum(cv2.dilate(grown, np.ones((3, 3), np.uint8)), bound))
    assert filters.grow_within(seeds, limits, steps).tobytes() == (grown * np.float32(1 / 255)).tobytes()
