"""Single frames of a video as image files that people open, change and save."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import cast

import cv2
import numpy as np

from facefusion.core.values import Mask, Picture, Pixels, Size
from facefusion.media.image.details import ImageDetails
from facefusion.media.image.encode import encode
from facefusion.media.image.formats import BMP, JPEG, StillFormat
from facefusion.media.image.pixels import decode_eight_bits, stretch
from facefusion.media.image.png import pixels_of
from facefusion.media.image.prepare import Prepared
from facefusion.media.image.tiff import encode_tiff
from facefusion.media.space import Need
from facefusion.vision.colour import Plane
from facefusion.vision.picture import SIXTEEN_BIT_STEP, BgrPicture, YuvPicture

QUICK = 1
"""Level of zlib. Level 6 makes frames 10 to 18 % smaller and takes three times as long or more."""

BEST = 100
"""JPEG quality."""

ROUNDING = 1
"""Levels by which a program that saves fewer bits may differ from ours in pixels that nobody touched."""

DEEPER = 4
"""How much more a frame of 16 bits takes than one of 8: their last bits hardly compress."""

BORDER = (11, 11)
"""Reaches the pixels that a chroma sample of 4:2:0 or 4:2:2 is made from."""

EPSILON = np.float32(1e-4)

IN_PLACE = np.eye(2, 3)


@dataclass(frozen=True, slots=True)
class FrameFormat:
    """A format for frames."""

    name: str
    deep: bool
    """Frames of more than 8 bits are written with 16."""
    alpha: bool
    least_bytes: float
    """Per pixel of 8-bit video: a quarter of the least over fourteen clips of people, since pictures may be plainer."""
    likely_bytes: float
    """As much as the worst third of those clips takes."""
    encode: Callable[[Plane], bytes]
    """From RGB or RGBA to the file."""
    shown: Callable[[bytes, Plane], Plane]
    """What is read from the file, given the file and what it was made of."""

    @property
    def suffix(self) -> str:
        """Of file names."""
        return f".{self.name}"

    def need(self, size: Size, bit_depth: int, frames: int) -> Need:
        """What frames of a video take on the disk.

        Args:
            size: in pixels.
            bit_depth: of the video.
            frames: how many.
        """
        pixels = size.width * size.height * frames * (DEEPER if self.deep and bit_depth > 8 else 1)
        return Need(int(pixels * self.least_bytes), int(pixels * self.likely_bytes))

    def working_bytes(self, size: Size, bit_depth: int) -> int:
        """Memory that a thread takes to write a frame: levels, codes in two orders and the file."""
        return size.width * size.height * 3 * (14 if self.deep and bit_depth > 8 else 3)

    def codes_of(self, picture: Picture) -> Plane:
        """A picture as the format holds it: RGB or RGBA of 8 or 16 bits."""
        deep = self.deep and picture.bit_depth > 8
        colours = cast("Plane", cv2.cvtColor(_bgr_codes(picture, deep=deep), cv2.COLOR_BGR2RGB))
        alpha = _alpha_of(picture)
        if alpha is None or not self.alpha:
            return colours
        return cast("Plane", np.dstack((colours, stretch(alpha, picture.bit_depth, 16 if deep else 8))))


def take_over(edited: Picture, shown: Plane, picture: Picture) -> bool:
    """Paste into a picture what someone changed in its image file; all other pixels stay what they are.

    Args:
        edited: the file as it is now; of the picture's size.
        shown: RGB or RGBA, what was read from the file before.
        picture: that the file was made of.

    Returns:
        Whether transparency was changed too, which is not taken over.
    """
    written = 8 if shown.dtype == np.uint8 else 16
    depth = 8 if edited.bit_depth == 8 else 16
    codes = _bgr_codes(edited, deep=depth > 8)
    before = stretch(shown, written, depth)
    tolerance = ROUNDING if depth < written else 0
    changed = cv2.absdiff(codes, np.ascontiguousarray(before[..., 2::-1])).max(axis=2) > tolerance
    mask = changed.astype(np.float32)
    picture.paste(_with_margin(edited.to_bgr(as_float=depth > 8), mask), mask, IN_PLACE)
    return _alpha_differs(_alpha_of(edited), before, tolerance)


def _with_margin(pixels: Pixels, mask: Mask) -> Pixels:
    """Pixels with the colours inside a mask of 0 and 1 spread over its border.

    Chroma of lower resolution is made from what lies on both sides before it is blended by the averaged mask. Were
    the old colours on the outer side, a thin line would get them twice.
    """
    share = cv2.blur(mask, BORDER)
    colours = cv2.blur(pixels * mask[..., None], BORDER) / np.maximum(share, EPSILON)[..., None]
    border = (mask == 0) & (share > EPSILON)
    out = pixels.copy()
    out[border] = colours[border] if pixels.dtype == np.float32 else np.rint(colours[border])
    return out


def _alpha_differs(alpha: Plane | None, before: Plane, tolerance: int) -> bool:
    opaque = np.iinfo(before.dtype).max
    old = before[..., 3] if before.shape[2] == 4 else np.full_like(before[..., 0], opaque)
    new = np.full_like(old, opaque) if alpha is None else alpha
    return bool(cv2.absdiff(new, old).max() > tolerance)


def _alpha_of(picture: Picture) -> Plane | None:
    return picture.alpha if isinstance(picture, YuvPicture | BgrPicture) else None


def _bgr_codes(picture: Picture, *, deep: bool) -> Plane:
    levels = picture.to_bgr(as_float=deep)
    return np.rint(levels * np.float32(SIXTEEN_BIT_STEP)).astype(np.uint16) if deep else cast("Plane", levels)


def _still(still: StillFormat, codes: Plane) -> bytes:
    return encode(Prepared(codes, 8, ()), still, BEST, ImageDetails())


def _png(codes: Plane) -> bytes:
    return pixels_of(codes, QUICK)


def _tiff(codes: Plane) -> bytes:
    return encode_tiff(codes, profile=b"", exif=b"", xmp=b"", resolution=None, level=QUICK)


def _as_it_was(_: bytes, codes: Plane) -> Plane:
    return codes


def _as_decoded(data: bytes, _: Plane) -> Plane:
    return decode_eight_bits(data)


FRAME_FORMATS = {
    form.name: form
    for form in (
        FrameFormat("bmp", False, False, 3.0, 3.0, partial(_still, BMP), _as_it_was),
        FrameFormat("jpeg", False, False, 0.09, 0.6, partial(_still, JPEG), _as_decoded),
        FrameFormat("png", True, True, 0.13, 0.9, _png, _as_it_was),
        FrameFormat("tiff", True, True, 0.14, 1.0, _tiff, _as_it_was),
    )
}
"""By the name that the user gives."""
