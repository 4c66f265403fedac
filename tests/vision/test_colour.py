from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facefusion.vision.colour import Coding, Matrix, bgr_to_planes, planes_to_bgr

codings = st.builds(
    Coding, matrix=st.sampled_from(list(Matrix)), full_range=st.booleans(), bit_depth=st.sampled_from((8, 10, 12, 16))
)


def h273(bgr: np.ndarray, coding: Coding) -> np.ndarray:
    """Straight from the standard's equations, in float."""
    blue, green, red = (bgr[..., i].astype(np.float64) / 255 for i in range(3))
    weight_red, weight_blue = {
        Matrix.FCC: (0.30, 0.11),
        Matrix.BT601: (0.299, 0.114),
        Matrix.SMPTE240M: (0.212, 0.087),
        Matrix.BT709: (0.2126, 0.0722),
        Matrix.BT2020: (0.2627, 0.0593),
    }[coding.matrix]
    luma = weight_red * red + (1 - weight_red - weight_blue) * green + weight_blue * blue
    chroma_blue = 0.5 * (blue - luma) / (1 - weight_blue)
    chroma_red = 0.5 * (red - luma) / (1 - weight_red)
    bits = coding.bit_depth
    if coding.full_range:
        peak, middle = 2**bits - 1, 2 ** (bits - 1)
        return np.stack((peak * luma, peak * chroma_blue + middle, peak * chroma_red + middle), axis=-1)
    scale = 2 ** (bits - 8)
    return np.stack(
        ((219 * luma + 16) * scale, (224 * chroma_blue + 128) * scale, (224 * chroma_red + 128) * scale), axis=-1
    )


@given(coding=codings, seed=st.integers(0, 2**31))
def test_codes_match_the_standard(coding, seed):
    bgr = np.random.default_rng(seed).integers(0, 256, (9, 13, 3), np.uint8)
    expected = np.clip(h273(bgr, coding), 0, 2**coding.bit_depth - 1)
    codes = np.stack(bgr_to_planes(bgr, coding), axis=-1)
    assert codes.dtype == coding.dtype
    assert np.abs(codes - expected).max() <= (1.01 if coding.bit_depth == 8 else 0.52)


@given(coding=codings, seed=st.integers(0, 2**31))
def test_levels_come_back(coding, seed):
    bgr = np.random.default_rng(seed).integers(0, 256, (9, 13, 3), np.uint8)
    back = planes_to_bgr(bgr_to_planes(bgr, coding), coding)
    assert np.abs(back.astype(int) - bgr).max() <= (3 if coding.bit_depth == 8 else 1)


@given(coding=codings)
def test_float_keeps_fractions_of_a_level(coding):
    ramp = np.linspace(10, 200, 64, dtype=np.float32).reshape(8, 8)
    bgr = np.stack((ramp, ramp + 20, ramp + 40), axis=-1)
    planes = bgr_to_planes(bgr, coding)
    back = planes_to_bgr(planes, coding, as_float=True)
    assert back.dtype == np.float32
    assert np.abs(back - bgr).max() <= 2.5 / 2 ** (coding.bit_depth - 8)


@pytest.mark.parametrize("full_range", [False, True])
def test_grey_is_luma_alone(full_range):
    coding = Coding(Matrix.BT601, full_range, 8)
    bgr = np.repeat(np.arange(256, dtype=np.uint8).reshape(16, 16, 1), 3, axis=2)
    (plane,) = bgr_to_planes(bgr, coding, grey=True)
    expected = np.arange(256) if full_range else np.rint(np.arange(256) / 255 * 219 + 16)
    assert np.abs(plane.reshape(-1).astype(int) - expected).max() <= 1
    back = planes_to_bgr((plane,), coding)
    assert np.array_equal(back[..., 0], back[..., 1]) and np.array_equal(back[..., 0], back[..., 2])
    assert np.abs(back.astype(int) - bgr).max() <= 1
