from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facefusion.vision.colour_match import match_colours


def scene(seed, side=96):
    noise = np.random.default_rng(seed).normal(size=(side, side, 3)).astype(np.float32)
    soft = cv2.GaussianBlur(noise, (0, 0), side / 12)
    return (128 + 60 * soft / np.abs(soft).max()).astype(np.float32)


@given(st.integers(0, 20))
def test_a_picture_matched_to_itself_stays_as_it_is(seed):
    picture = scene(seed)
    np.testing.assert_allclose(match_colours(picture, picture), picture, atol=1e-3)


def test_a_cast_that_the_reference_has_not_goes_in_full_where_colours_are_alike():
    # Brighter by the same factor: hue and saturation are the same, so the histograms agree.
    reference = scene(3) * np.float32(0.8)
    brighter = reference * np.float32(1.2)
    matched = match_colours(brighter, reference)
    assert np.abs(brighter - reference).mean() > 15
    assert np.abs(matched - reference).mean() < 1.5


def test_it_goes_half_the_way_where_colours_have_nothing_in_common():
    red, blue = np.full((64, 64, 3), (20, 20, 200), np.float32), np.full((64, 64, 3), (200, 20, 20), np.float32)
    matched = match_colours(red, blue)
    # Two single peaks among 3000 bins: the correlation is -1/2999.
    np.testing.assert_allclose(matched[0, 0], (110, 20, 110), atol=0.1)


def test_the_first_stages_decide_what_detail_is_kept():
    reference = np.full((96, 96, 3), 120, np.float32)
    picture = reference.copy()
    picture[::2] += 20
    matched = match_colours(picture, reference)
    # Stripes finer than any stage sees stay; their mean is the reference's.
    assert matched[::2].mean() - matched[1::2].mean() == pytest.approx(20, abs=0.5)
    assert matched.mean() == pytest.approx(120, abs=0.5)


def test_the_result_stays_within_levels():
    matched = match_colours(np.full((32, 32, 3), 250, np.float32), scene(1, 32) * 2)
    assert matched.min() >= 0
    assert matched.max() <= 255
    assert matched.dtype == np.float32


def test_eight_bits_and_fractions_are_matched_alike():
    reference, picture = scene(4), scene(5)
    whole = match_colours(np.rint(picture).astype(np.uint8), np.rint(reference).astype(np.uint8))
    np.testing.assert_allclose(whole, match_colours(picture, reference), atol=2)
