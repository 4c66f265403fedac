"""Between the chroma samples of a picture and its pixels.

Reading, chroma is raised to the pixels by linear interpolation, as players show it. Writing, it is lowered again by a
filter that undoes just that: raised and lowered, every sample is what it was, and what is new is shown as nearly as so
few samples can. Averaging the pixels that a sample stands for would wash out colours a little each time.

In terms of the maps: ``frame_to_plane`` is the map from the picture's pixels to those of the plane.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeAlias, cast

import cv2
import numpy as np
import numpy.typing as npt

from facefusion.core.values import Affine, Region, Size
from facefusion.vision.geometry import compose, invert, scale_of
from facefusion.vision.warp import Samples, SamplesT, interpolate, sample, spread

Taps: TypeAlias = tuple[int, npt.NDArray[np.float32]]
"""Offset of the first pixel from a sample's first one, and the weight of each from there on."""

REACH = 2
"""Samples on either side that one is lowered from. Of white noise at two pixels a sample, at most 3 % more is lost than
must be; 12 to 27 % more with averaging, and up to 28 % more with a reach of one."""

FINER = 1.5
"""Pixels of a crop per sample of the plane from which on the crop tells apart the pixels that share a sample. A coarser
one is read from the plane and laid over it directly, which is cheaper."""

Lay: TypeAlias = Callable[[Sequence[Samples], Affine, Region], Sequence[Samples]]
"""Lays crops of one shape out over a region of a plane, given the map from the crops to the plane."""


def sample_raised(
    planes: Sequence[SamplesT], frame_to_plane: Affine, frame_to_crop: Affine, size: Size
) -> list[SamplesT]:
    """Read a crop of ``size`` out of planes of one shape that have fewer samples than the picture has pixels."""
    steps = max(_steps(frame_to_plane))
    if steps == 1:
        return sample(planes, frame_to_crop, size)
    if scale_of(frame_to_crop) * steps < FINER:
        return sample(planes, compose(frame_to_crop, invert(frame_to_plane)), size)
    # Raised to the pixels and then interpolated between them, or interpolated at once: it is the same broken line.
    return interpolate(planes, compose(frame_to_plane, invert(frame_to_crop)), size)


def lay_lowered(frame_to_plane: Affine, peak: int) -> Lay:
    """What lays crops out over a plane that has fewer samples than the picture has pixels.

    Args:
        frame_to_plane: see the module.
        peak: greatest value of a sample.
    """
    steps = _steps(frame_to_plane)
    if steps == (1, 1):
        return spread
    (first_x, across), (first_y, down) = (
        _taps(step, -float(frame_to_plane[axis, 2]) * step) for axis, step in enumerate(steps)
    )

    def lay(crops: Sequence[Samples], crop_to_plane: Affine, region: Region) -> Sequence[Samples]:
        crop_to_frame = compose(invert(frame_to_plane), crop_to_plane)
        if max(steps) < FINER * scale_of(crop_to_frame):
            return spread(crops, crop_to_plane, region)
        width, height = region.right - region.left, region.bottom - region.top
        left, top = region.left * steps[0] + first_x, region.top * steps[1] + first_y
        right, bottom = left + (width - 1) * steps[0] + len(across), top + (height - 1) * steps[1] + len(down)
        return [
            lowered(pixels, width, height) for pixels in spread(crops, crop_to_frame, Region(left, top, right, bottom))
        ]

    def lowered(pixels: Samples, width: int, height: int) -> Samples:
        # OpenCV filters floats, and into floats, several times as quickly as whole numbers.
        source = pixels if pixels.dtype == np.uint8 else pixels.astype(np.float32)
        filtered = cv2.sepFilter2D(source, cv2.CV_32F, across, down, anchor=(0, 0))[:: steps[1], :: steps[0]]
        return cast("Samples", np.rint(filtered[:height, :width].clip(0, peak)).astype(pixels.dtype))

    return lay


def _steps(frame_to_plane: Affine) -> tuple[int, int]:
    """Pixels per sample, across and down."""
    return round(1.0 / float(frame_to_plane[0, 0])), round(1.0 / float(frame_to_plane[1, 1]))


@lru_cache(maxsize=16)
def _taps(step: int, place: float) -> Taps:
    """The filter that undoes linear interpolation in one direction.

    Of all that do and reach no further than :data:`REACH`, it is the one of least length, which passes on the least
    noise: it solves ``sum over o of d(o) hat((o - place) / step - m) = [m = 0]`` for every whole m, where hat(t) =
    max(0, 1 - |t|). Without the limit, it would be the best fit in the least squares to what was lowered.

    Args:
        step: pixels per sample.
        place: of the first sample, in pixels.
    """
    first, last = math.ceil(place - REACH * step), math.floor(place + REACH * step)
    samples = np.arange(-REACH - 1, REACH + 2)
    places = (np.arange(first, last + 1) - place) / step
    hats = np.clip(1.0 - np.abs(places[None] - samples[:, None]), 0.0, None)
    weights = np.linalg.pinv(hats) @ (samples == 0)
    return first, weights.astype(np.float32)
