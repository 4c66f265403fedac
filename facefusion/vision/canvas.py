"""The planes of a picture, written to only where a mask says so, and restorable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import cv2
import numpy as np
import numpy.typing as npt

from facefusion.core.values import Affine, Mask, Region
from facefusion.vision.chroma import Lay
from facefusion.vision.colour import Plane
from facefusion.vision.geometry import scale_of
from facefusion.vision.warp import Samples, image_of, span, spread, spread_mask

TRIM_BLOCK = 16
"""A patch is cut out of its crop in multiples of this, so that averaging by 2, 4, ... stays in the quick case."""


class PlaneStore(Protocol):
    """Where the planes live: arrays of our own, or a decoder's buffers."""

    @property
    def alpha(self) -> Plane | None:
        """The alpha channel, which nobody writes to."""

    def planes(self) -> tuple[Plane, ...]:
        """The planes, to read."""

    def writable_planes(self) -> tuple[Plane, ...]:
        """The planes, to write; from the first call on, :meth:`planes` gives these. Views got before are void."""


class ArrayStore:
    """Planes in arrays; those that are marked read-only are copied before the first write."""

    def __init__(self, planes: Iterable[Plane], alpha: Plane | None = None) -> None:
        self.alpha = alpha
        self._planes = tuple(planes)

    def planes(self) -> tuple[Plane, ...]:
        """The planes, to read."""
        return self._planes

    def writable_planes(self) -> tuple[Plane, ...]:
        """The planes, copied where they were read-only."""
        if not all(plane.flags.writeable for plane in self._planes):
            self._planes = tuple(plane if plane.flags.writeable else plane.copy() for plane in self._planes)
        return self._planes


class Canvas:
    """Blends patches into planes and remembers what they covered."""

    def __init__(self, store: PlaneStore) -> None:
        self.store = store
        self._covered: list[tuple[int, Region, Plane]] = []

    @property
    def planes(self) -> tuple[Plane, ...]:
        """The planes as they are now; do not keep them over a :meth:`blend`."""
        return self.store.planes()

    def blend(
        self, first: int, patches: Sequence[Samples], mask: Mask, crop_to_plane: Affine, lay: Lay = spread
    ) -> None:
        """Lay patches, codes in crop coordinates, over planes of one size where ``mask`` is above zero.

        Args:
            first: index of the first plane; the others follow it.
            patches: one for each plane.
            mask: 0..1, in crop coordinates.
            crop_to_plane: the map from the crop to each of the planes.
            lay: lays the patches out over a region of their planes.
        """
        height, width = self.planes[first].shape[:2]
        region = _clip(image_of(crop_to_plane, _with_border(mask, crop_to_plane)), width, height)
        if region is None:
            return
        weight = spread_mask(mask, crop_to_plane, region)
        if not cv2.hasNonZero(weight):
            return
        rest = np.float32(1.0) - weight
        area = np.s_[region.top : region.bottom, region.left : region.right]
        for index, laid in enumerate(lay(patches, crop_to_plane, region), first):
            target = self.store.writable_planes()[index][area]
            before = target.copy()
            self._covered.append((index, region, before))
            _mix(before, laid, weight, rest, target)

    def rollback(self) -> None:
        """Restore every pixel that :meth:`blend` has written."""
        while self._covered:
            index, region, before = self._covered.pop()
            self.store.writable_planes()[index][region.top : region.bottom, region.left : region.right] = before


def trim(mask: Mask) -> Region | None:
    """The part of a crop that its mask reaches, with a margin for interpolation; none where the mask is all zero."""
    left, top, across, down = cv2.boundingRect(cv2.compare(mask, 0.0, cv2.CMP_GT))  # type: ignore[call-overload]
    if not across:
        return None
    height, width = mask.shape
    left, right = span(left - TRIM_BLOCK, left + across + TRIM_BLOCK, width, TRIM_BLOCK)
    top, bottom = span(top - TRIM_BLOCK, top + down + TRIM_BLOCK, height, TRIM_BLOCK)
    return Region(left, top, right, bottom)


def _with_border(mask: Mask, crop_to_plane: Affine) -> Region:
    """The crop and what interpolation reaches around it: a pixel, or the pixels averaged into one."""
    reach = 1 + round(1.0 / scale_of(crop_to_plane))
    height, width = mask.shape
    return Region(-reach, -reach, width + reach, height + reach)


def _clip(region: Region, width: int, height: int) -> Region | None:
    left, top = max(region.left, 0), max(region.top, 0)
    right, bottom = min(region.right, width), min(region.bottom, height)
    return Region(left, top, right, bottom) if left < right and top < bottom else None


def _mix(
    before: Plane, laid: Samples, weight: npt.NDArray[np.float32], rest: npt.NDArray[np.float32], target: Plane
) -> None:
    """Mean by ``weight`` and ``rest``, which add up to 1; rounded, and exactly ``before`` where the weight is zero."""
    if before.dtype == np.uint8 and laid.dtype == np.uint8:
        cv2.blendLinear(laid, before, weight, rest, dst=target)
        return
    old = before.astype(np.float32)
    share = weight if old.ndim == 2 else weight[..., None]
    target[...] = np.rint(old + (laid.astype(np.float32) - old) * share)
