"""Filters on maps of float32: soft steps, blurs that respect a weight, filling of gaps, growth inside limits."""

from __future__ import annotations

from typing import cast

import cv2
import numpy as np
import numpy.typing as npt

from facefusion.core.values import Size

Map = npt.NDArray[np.float32]
"""Height x width or height x width x channels."""

Marks = npt.NDArray[np.uint8]
"""Height x width, 0 .. 255."""


def smooth_step(values: Map, low: float, high: float) -> Map:
    """0 up to ``low``, 1 from ``high`` on, and the cubic 3t² - 2t³ between."""
    share = values - np.float32(low)
    share *= np.float32(1 / (high - low))
    # Dozens of times for each face: NumPy's own clip, and an array for each step, take half as long again.
    np.maximum(share, 0, out=share)
    np.minimum(share, 1, out=share)
    step: Map = share * share
    share *= -2
    share += 3
    step *= share
    return step


def smooth_ramp(value: float, low: float, high: float) -> float:
    """:func:`smooth_step` of one number."""
    share = min(max((value - low) / (high - low), 0.0), 1.0)
    return share * share * (3 - 2 * share)


def blur(values: Map, sigma: float, sigma_down: float | None = None) -> Map:
    """Gaussian blur, the picture mirrored at its border; ``sigma_down`` in pixels where it differs vertically."""
    return cast(
        "Map",
        cv2.GaussianBlur(values, (0, 0), sigma, sigmaY=sigma_down or sigma, borderType=cv2.BORDER_REFLECT),
    )


def weighted_blur(values: Map, weights: Map, sigma: float, sigma_down: float | None = None) -> tuple[Map, Map]:
    """Normalised convolution (Knutsson and Westin, 1993): the blur of the pixels that count.

    Args:
        values: height x width x 3.
        weights: height x width, 0 .. 1.
        sigma: as for :func:`blur`.
        sigma_down: as for :func:`blur`.

    Returns:
        The weighted mean around each pixel, and the blurred weight that it rests on (0 .. 1). Where that weight is
        nothing the mean tends to 0.
    """
    stacked = np.empty((*weights.shape, 4), np.float32)
    np.multiply(values, weights[..., None], out=stacked[..., :3])
    stacked[..., 3] = weights
    spread = blur(stacked, sigma, sigma_down)
    support = spread[..., 3]
    return spread[..., :3] / (support[..., None] + np.float32(1e-4)), support


def fill_gaps(values: Map, weights: Map) -> Map:
    """Fill what has no weight from its surroundings, near ones first (pull-push; Gortler et al., 1996).

    Args:
        values: height x width x channels.
        weights: height x width, 0 (unknown) .. 1 (known). A pixel of weight 1 keeps its value.
    """
    levels: list[tuple[Map, Map]] = [(values * weights[..., None], weights)]
    while min(levels[-1][1].shape) > 2:
        numerator, denominator = levels[-1]
        levels.append((cast("Map", cv2.pyrDown(numerator)), cast("Map", cv2.pyrDown(denominator))))
    numerator, denominator = levels.pop()
    filled = _ratio(numerator, denominator)
    for numerator, denominator in reversed(levels):
        height, width = denominator.shape
        from_below = cast("Map", cv2.pyrUp(filled, dstsize=(width, height))).reshape(numerator.shape)
        share = np.clip(denominator, 0, 1)[..., None]
        filled = _ratio(numerator, denominator) * share + from_below * (1 - share)
    return filled


def _ratio(numerator: Map, denominator: Map) -> Map:
    ratio: Map = numerator / (denominator[..., None] + np.float32(1e-9))
    return ratio


def resize(values: Map, size: Size) -> Map:
    """Resample to ``size``: area mean where it shrinks, linear where it grows. Keeps the corners of the picture."""
    height, width = values.shape[:2]
    if (width, height) == size:
        return values
    mode = cv2.INTER_AREA if size.width < width else cv2.INTER_LINEAR
    return cast("Map", cv2.resize(values, size, interpolation=mode))


def dilate(values: Map, side: int) -> Map:
    """Maximum over a square of ``side`` pixels (odd)."""
    return cast("Map", cv2.dilate(values, np.ones((side, side), np.uint8)))


def grow_within(seeds: Map, limits: Map, steps: int) -> Map:
    """Let ``seeds`` spread by a pixel per step, nowhere above ``limits`` (morphological reconstruction).

    Values are 0 .. 1 and are kept in 1/255 steps.
    """
    grown = quantise(seeds)
    bound = np.maximum(quantise(limits), grown)
    neighbourhood = np.ones((3, 3), np.uint8)
    for _ in range(steps):
        spread = cast("Marks", cv2.min(cv2.dilate(grown, neighbourhood), bound))
        if np.array_equal(spread, grown):
            break
        grown = spread
    return grown * np.float32(1 / 255)


def median(samples: Map) -> npt.NDArray[np.float32]:
    """The median of each column of n x m samples, n >= 1, or of n numbers; what ``np.median`` gives for finite ones.

    That one adds a Python function or ten to each call, which dozens of calls for a frame show.
    """
    middle = len(samples) // 2
    if len(samples) % 2:
        return cast("Map", np.partition(samples, middle, axis=0)[middle])
    around = np.partition(samples, (middle - 1, middle), axis=0)
    return cast("Map", (around[middle - 1] + around[middle]) / 2)


def quantise(values: Map) -> Marks:
    """0 .. 1 to 0 .. 255, rounded; what is outside is clipped."""
    return cast("Marks", cv2.convertScaleAbs(np.maximum(values, 0), alpha=255))


def sample(
    picture: Map | Marks, x: Map, y: Map, *, cubic: bool = False, border: int = cv2.BORDER_REPLICATE
) -> npt.NDArray[np.float32]:
    """Read ``picture`` at the positions ``x``, ``y`` (pixels); the type of the picture is kept."""
    mode = cv2.INTER_CUBIC if cubic else cv2.INTER_LINEAR
    return cast("Map", cv2.remap(picture, x, y, mode, borderMode=border))
