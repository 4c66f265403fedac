"""Pictures in their own pixel format: planar YUV or grey, and interleaved BGR.

Both implement :class:`facefusion.core.values.Picture`. Only the region that is asked for is ever converted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self, TypeVar, cast

import cv2
import numpy as np
import numpy.typing as npt

from facefusion.core.values import Affine, Mask, Pixels, Region, Size
from facefusion.observability.stages import staged
from facefusion.vision.canvas import ArrayStore, Canvas, PlaneStore, trim
from facefusion.vision.chroma import lay_lowered, sample_raised
from facefusion.vision.colour import Coding, Plane, as_pixels, bgr_to_planes, planes_to_bgr, to_nearest_level
from facefusion.vision.geometry import compose, invert
from facefusion.vision.warp import sample, shrink

ArrayT = TypeVar("ArrayT", bound=Pixels)

SIXTEEN_BIT_STEP = 257.0
"""Codes of 16 bits per level of 0..255."""


class Siting(NamedTuple):
    """Where the first chroma sample lies between the luma samples it stands for, as a share of the gap in x and y."""

    x: float
    y: float


LEFT = Siting(0.0, 0.5)
"""MPEG-2, H.264 and later, where nothing else is said."""
CENTRE = Siting(0.5, 0.5)
"""JPEG and MPEG-1."""
TOP_LEFT = Siting(0.0, 0.0)
"""Ultra HD Blu-ray."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How the planes of a YUV picture fit together."""

    coding: Coding
    step_x: int = 1
    """Luma columns per chroma column."""
    step_y: int = 1
    """Luma rows per chroma row."""
    siting: Siting = LEFT

    def plane_size(self, index: int, size: Size) -> Size:
        """Size of plane ``index`` of a picture of ``size``; a last odd column or row has chroma of its own."""
        return size if index == 0 else Size(-(-size.width // self.step_x), -(-size.height // self.step_y))

    def to_plane(self, index: int) -> Affine:
        """The map from the picture's pixels to those of plane ``index``."""
        if index == 0:
            return np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
        x, y = self.siting
        return np.array(
            [
                [1.0 / self.step_x, 0.0, -x * (self.step_x - 1) / self.step_x],
                [0.0, 1.0 / self.step_y, -y * (self.step_y - 1) / self.step_y],
            ]
        )


class YuvPicture:
    """Planar YUV of any subsampling, or grey: one plane; with an alpha channel kept aside untouched."""

    def __init__(self, planes: Sequence[Plane] | PlaneStore, layout: Layout, alpha: Plane | None = None) -> None:
        """Make a picture over planes.

        Args:
            planes: Y, U, V or Y alone, ``uint8`` or little-endian ``uint16``; read-only arrays are copied when first
                written to, writable ones are written in place. Or a store that holds them.
            layout: how they fit together.
            alpha: height x width, of the same type; a store brings its own.
        """
        self.layout = layout
        self._canvas = Canvas(ArrayStore(planes, alpha) if isinstance(planes, Sequence) else planes)
        height, width = self._canvas.planes[0].shape
        self._size = Size(width, height)

    @classmethod
    def from_bgr(cls, pixels: Pixels, layout: Layout, *, grey: bool = False, alpha: Plane | None = None) -> YuvPicture:
        """Make a picture of a given format out of BGR."""
        height, width = pixels.shape[:2]
        planes = []
        for index, plane in enumerate(bgr_to_planes(pixels, layout.coding, grey=grey)):
            size = layout.plane_size(index, Size(width, height))
            whole, to_plane = Region(0, 0, size.width, size.height), layout.to_plane(index)
            planes.append(cast("Plane", lay_lowered(to_plane, layout.coding.peak)([plane], to_plane, whole)[0]))
        return cls(planes, layout, alpha)

    @property
    def size(self) -> Size:
        """Size in pixels."""
        return self._size

    @property
    def bit_depth(self) -> int:
        """Bits per component."""
        return self.layout.coding.bit_depth

    @property
    def grey(self) -> bool:
        """There is luma only."""
        return len(self._canvas.planes) == 1

    @property
    def alpha(self) -> Plane | None:
        """Height x width, to read, like the planes; none where the picture has no alpha channel."""
        return self._canvas.store.alpha

    @property
    def store(self) -> PlaneStore:
        """What holds the planes, for whoever writes the picture out."""
        return self._canvas.store

    @property
    def planes(self) -> tuple[Plane, ...]:
        """The planes as they are now, to read; void after the next paste."""
        return self._canvas.planes

    @staged("crop")
    def warp(self, frame_to_crop: Affine, size: Size, *, as_float: bool = False) -> Pixels:
        """Sample a crop; each plane is warped by itself and the crop converted."""
        luma, *chroma = self.planes
        crops = sample([luma], frame_to_crop, size)
        if chroma:
            crops += sample_raised(chroma, self.layout.to_plane(1), frame_to_crop, size)
        return planes_to_bgr(crops, self.layout.coding, as_float=as_float)

    def thumbnail(self, size: Size) -> npt.NDArray[np.uint8]:
        """The whole picture at ``size``. Chroma siting is left aside: it is below half a pixel of a smaller picture."""
        small = [_resize(plane, size) for plane in self.planes]
        return cast("npt.NDArray[np.uint8]", planes_to_bgr(small, self.layout.coding))

    def to_bgr(self, *, as_float: bool = False) -> Pixels:
        """The whole picture in BGR."""
        return self.warp(self.layout.to_plane(0), self._size, as_float=as_float)

    @staged("paste")
    def paste(self, crop: Pixels, mask: Mask, frame_to_crop: Affine) -> None:
        """Blend a crop back where ``mask`` is above zero; chroma takes the mask averaged over what it stands for."""
        region = trim(mask)
        if region is None:
            return
        mask, crop_to_frame = _cut(mask, region), _from_region(frame_to_crop, region)
        patches = bgr_to_planes(_cut(crop, region), self.layout.coding, grey=self.grey)
        for first, group in ((0, patches[:1]), (1, patches[1:])):
            if group:
                to_plane = self.layout.to_plane(first)
                lay = lay_lowered(to_plane, self.layout.coding.peak)
                self._canvas.blend(first, group, mask, compose(to_plane, crop_to_frame), lay)

    def replaced_by(self, pixels: Pixels) -> YuvPicture:
        """A new picture of the same format; ``pixels`` may have any size, to which alpha is resized."""
        alpha = _alpha_for(pixels, self.alpha)
        return YuvPicture.from_bgr(pixels, self.layout, grey=self.grey, alpha=alpha)

    def rollback(self) -> None:
        """Undo every paste."""
        self._canvas.rollback()


class BgrPicture:
    """Interleaved BGR of 8 or 16 bits, with an alpha channel kept aside untouched."""

    def __init__(self, pixels: Plane, alpha: Plane | None = None) -> None:
        """Make a picture over pixels.

        Args:
            pixels: height x width x 3, BGR, ``uint8`` or ``uint16``; copied when first written to if read-only.
            alpha: height x width of the same type.
        """
        self._canvas = Canvas(ArrayStore((pixels,)))
        self.alpha = alpha
        height, width = pixels.shape[:2]
        self._size = Size(width, height)

    @property
    def size(self) -> Size:
        """Size in pixels."""
        return self._size

    @property
    def bit_depth(self) -> int:
        """Bits per component, 8 or 16."""
        return 8 if self.pixels.dtype == np.uint8 else 16

    @property
    def pixels(self) -> Plane:
        """The pixels as they are now, to read."""
        return self._canvas.planes[0]

    @staged("crop")
    def warp(self, frame_to_crop: Affine, size: Size, *, as_float: bool = False) -> Pixels:
        """Sample a crop."""
        return _to_levels(sample([self.pixels], frame_to_crop, size)[0], as_float=as_float)

    def thumbnail(self, size: Size) -> npt.NDArray[np.uint8]:
        """The whole picture at ``size``."""
        return cast("npt.NDArray[np.uint8]", _to_levels(_resize(self.pixels, size), as_float=False))

    def to_bgr(self, *, as_float: bool = False) -> Pixels:
        """A copy of the pixels."""
        return _to_levels(self.pixels.copy(), as_float=as_float)

    @staged("paste")
    def paste(self, crop: Pixels, mask: Mask, frame_to_crop: Affine) -> None:
        """Blend a crop back where ``mask`` is above zero."""
        region = trim(mask)
        if region is None:
            return
        patch = self._from_levels(_cut(crop, region))
        self._canvas.blend(0, (patch,), _cut(mask, region), _from_region(frame_to_crop, region))

    def replaced_by(self, pixels: Pixels) -> Self:
        """A new picture of the same depth; alpha is resized with it."""
        return type(self)(self._from_levels(pixels), _alpha_for(pixels, self.alpha))

    def rollback(self) -> None:
        """Undo every paste."""
        self._canvas.rollback()

    def _from_levels(self, levels: Pixels) -> Plane:
        if self.bit_depth == 8:
            return to_nearest_level(levels)
        steps = np.clip(levels.astype(np.float32), 0.0, 255.0) * np.float32(SIXTEEN_BIT_STEP)
        codes: npt.NDArray[np.uint16] = np.rint(steps).astype(np.uint16)
        return codes


def _to_levels(codes: Plane, *, as_float: bool) -> Pixels:
    if codes.dtype == np.uint8:
        return codes.astype(np.float32) if as_float else cast("Pixels", codes)
    return as_pixels(codes.astype(np.float32) / np.float32(SIXTEEN_BIT_STEP), as_float=as_float)


def _resize(plane: Plane, size: Size) -> Plane:
    """``plane`` at another size; averaged by powers of two first, at which OpenCV is many times as quick."""
    height, width = plane.shape[:2]
    factor = 1
    while min(width / size.width, height / size.height) >= 4 * factor:
        factor *= 2
    plane = shrink(plane, factor)
    shrinks = size.width < width or size.height < height
    return cast("Plane", cv2.resize(plane, size, interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR))


def _alpha_for(pixels: Pixels, alpha: Plane | None) -> Plane | None:
    """A copy of an alpha channel at the size of ``pixels``."""
    if alpha is None:
        return None
    height, width = pixels.shape[:2]
    return alpha.copy() if alpha.shape == (height, width) else _resize(alpha, Size(width, height))


def _cut(array: ArrayT, region: Region) -> ArrayT:
    return cast("ArrayT", array[region.top : region.bottom, region.left : region.right])


def _from_region(frame_to_crop: Affine, region: Region) -> Affine:
    """The map from a region of the crop to the frame."""
    return compose(invert(frame_to_crop), np.array([[1.0, 0.0, region.left], [0.0, 1.0, region.top]]))
