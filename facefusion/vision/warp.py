"""Resampling between a picture's planes and crops.

Both directions filter by area before they interpolate where the map shrinks, so that no detail folds over; the
border is repeated outward. All maps have pixel centres on whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias, TypeVar, cast

import cv2
import numpy as np
import numpy.typing as npt

from facefusion.core.values import Affine, Mask, Region, Size
from facefusion.vision.geometry import compose, invert, scale_of

SHRINK_BEFORE_FILTER = 2.25
"""From how many source pixels per target pixel on the source is filtered by area first. Below, interpolation alone
keeps more detail than it folds over: photos laid into a frame at half their size are then 2 to 5 dB nearer to the mean
over each pixel's area, at a third of it (after averaging by two, not by four) 10 dB."""

GROW_BEFORE_CUBIC = 1.25
"""From how many target pixels per source pixel on the source is first enlarged by a whole factor with a cubic kernel.
Measured on photos enlarged 1.5 to 4 times: a third to all of the gain of cubic over linear warping (0.4 to 3 dB) at a
tenth of its extra time."""

MOST_CUBIC = 4
"""Beyond this factor a cubic kernel shows nothing more."""

Samples: TypeAlias = npt.NDArray[np.uint8] | npt.NDArray[np.uint16] | npt.NDArray[np.float32]
SamplesT = TypeVar("SamplesT", bound=Samples)


def sample(planes: Sequence[SamplesT], plane_to_crop: Affine, size: Size) -> list[SamplesT]:
    """Read a crop of ``size`` out of each of some planes of one shape (of one or more interleaved channels)."""
    crop_to_plane = invert(plane_to_crop)
    source_per_target = scale_of(crop_to_plane)
    needed, crop_to_part = _needed(planes, crop_to_plane, size, _area_factor(source_per_target))
    parts = [_rescaled(plane, source_per_target) for plane in needed]
    if parts[0] is not needed[0]:
        crop_to_part = compose(invert(_back(parts[0], needed[0])), crop_to_part)
    return [_interpolate(part, crop_to_part, size, border=None) for part in parts]


def interpolate(planes: Sequence[SamplesT], crop_to_plane: Affine, size: Size) -> list[SamplesT]:
    """As :func:`sample`, by linear interpolation alone; for maps that do not shrink."""
    parts, crop_to_part = _needed(planes, crop_to_plane, size, factor=1)
    return [_interpolate(part, crop_to_part, size, border=None) for part in parts]


def spread(crops: Sequence[SamplesT], crop_to_plane: Affine, region: Region) -> list[SamplesT]:
    """Lay crops of one shape out over ``region`` of a plane, their borders repeated; the reverse of :func:`sample`."""
    source_per_target = 1.0 / scale_of(crop_to_plane)
    parts = [_rescaled(crop, source_per_target) for crop in crops]
    if parts[0] is not crops[0]:
        crop_to_plane = compose(crop_to_plane, _back(parts[0], crops[0]))
    return _lay(parts, crop_to_plane, region, border=None)


def spread_mask(mask: Mask, crop_to_plane: Affine, region: Region) -> Mask:
    """Lay a mask out over ``region`` of a plane: zero outside, never below 0 or above 1."""
    part = shrink(mask, _area_factor(1.0 / scale_of(crop_to_plane)))
    return _lay([part], compose(crop_to_plane, _back(part, mask)), region, border=0.0)[0]


def shrink(plane: SamplesT, factor: int) -> SamplesT:
    """Average ``factor`` x ``factor`` pixels into one; by a factor of 1, the plane itself.

    Factors of two go first: OpenCV has a vectorised case for them that is ten times as fast as any other.
    """
    out = plane
    while factor > 1:
        step = 2 if factor % 2 == 0 else factor
        size = (-(-out.shape[1] // step), -(-out.shape[0] // step))
        out = cast("SamplesT", cv2.resize(out, size, interpolation=cv2.INTER_AREA))
        factor //= step
    return out


def image_of(affine: Affine, region: Region, margin: int = 0) -> Region:
    """The smallest region of whole pixels that holds the image of ``region`` and ``margin`` pixels around it."""
    left, right = _reach(affine[0].tolist(), region)
    top, bottom = _reach(affine[1].tolist(), region)
    return Region(left - margin, top - margin, right + margin, bottom + margin)


def _reach(row: Sequence[float], region: Region) -> tuple[int, int]:
    """The whole pixels in one direction that a map's ``row`` takes the pixels of ``region`` to, the last exclusive."""
    across, down, shift = row
    ends = (across * region.left, across * (region.right - 1))
    other_ends = (down * region.top, down * (region.bottom - 1))
    return math.floor(min(ends) + min(other_ends) + shift), math.ceil(max(ends) + max(other_ends) + shift) + 1


def span(low: int, high: int, length: int, block: int = 1) -> tuple[int, int]:
    """Clip ``low``..``high`` to 0..``length``, leave at least one pixel, and make it whole blocks where they fit."""
    low = min(max(low, 0), length - 1)
    high = max(min(high, length), low + 1)
    wanted = -(-(high - low) // block) * block
    high = min(low + wanted, length)
    return max(high - wanted, 0), high


def _needed(
    planes: Sequence[SamplesT], crop_to_plane: Affine, size: Size, factor: int
) -> tuple[list[SamplesT], Affine]:
    """The part of each plane that a crop of ``size`` is made of, in whole blocks of ``factor``, and the map into it."""
    wanted = image_of(crop_to_plane, Region(0, 0, size.width, size.height), 2 * factor + 2)
    height, width = planes[0].shape[:2]
    left, right = span(wanted.left, wanted.right, width, factor)
    top, bottom = span(wanted.top, wanted.bottom, height, factor)
    parts = [cast("SamplesT", plane[top:bottom, left:right]) for plane in planes]
    return parts, _moved(crop_to_plane, left, top)


def _area_factor(source_per_target: float) -> int:
    """The power of two that brings the scale below :data:`SHRINK_BEFORE_FILTER`; OpenCV is quick at those alone."""
    factor = 1
    while source_per_target >= SHRINK_BEFORE_FILTER * factor:
        factor *= 2
    return factor


def _rescaled(plane: SamplesT, source_per_target: float) -> SamplesT:
    """Bring a plane near the target's scale by a whole factor; where it is, the plane itself."""
    target_per_source = 1.0 / source_per_target
    if target_per_source < GROW_BEFORE_CUBIC:
        return shrink(plane, _area_factor(source_per_target))
    factor = min(max(2, round(target_per_source)), MOST_CUBIC)
    size = (plane.shape[1] * factor, plane.shape[0] * factor)
    return cast("SamplesT", cv2.resize(plane, size, interpolation=cv2.INTER_CUBIC))


def _back(resized: Samples, plane: Samples) -> Affine:
    """The map from a resized plane to the plane it was made of: their borders coincide, not their corner pixels."""
    across, down = plane.shape[1] / resized.shape[1], plane.shape[0] / resized.shape[0]
    return np.array([[across, 0.0, (across - 1.0) / 2.0], [0.0, down, (down - 1.0) / 2.0]])


def _moved(crop_to_plane: Affine, left: float, top: float) -> Affine:
    """The map into the part of a plane that begins at ``left`` and ``top``."""
    (a, b, c), (d, e, f) = crop_to_plane.tolist()
    return np.array(((a, b, c - left), (d, e, f - top)))


def _lay(parts: Sequence[SamplesT], part_to_plane: Affine, region: Region, *, border: float | None) -> list[SamplesT]:
    size = Size(region.right - region.left, region.bottom - region.top)
    out_to_part = invert(_moved(part_to_plane, region.left, region.top))
    return [_interpolate(part, out_to_part, size, border=border) for part in parts]


def _interpolate(plane: SamplesT, out_to_plane: Affine, size: Size, *, border: float | None) -> SamplesT:
    out = cv2.warpAffine(
        plane,
        out_to_plane,
        size,
        flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP,
        borderMode=cv2.BORDER_REPLICATE if border is None else cv2.BORDER_CONSTANT,
        borderValue=0.0 if border is None else border,
    )
    return cast("SamplesT", out)
