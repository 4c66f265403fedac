"""Reading an image."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import cv2
import numpy as np

from facefusion.core.values import Picture
from facefusion.media.image.deep import deep_codes
from facefusion.media.image.details import ImageDetails, details_of
from facefusion.media.image.exif import orientation_of
from facefusion.media.image.facts import bit_depth
from facefusion.media.image.opening import opened
from facefusion.media.image.pixels import eight_bit_codes
from facefusion.media.source import check_file
from facefusion.vision.colour import Coding, Matrix, Plane
from facefusion.vision.picture import BgrPicture, Layout, YuvPicture


def read_image(path: Path) -> Picture:
    """Read an image, turned upright; the first frame of an animated one.

    Raises:
        MediaError: missing, no image, damaged or too large.
    """
    return read_image_with_details(path)[0]


def read_image_with_details(path: Path) -> tuple[Picture, ImageDetails]:
    """Read an image and what a result made of it should take over.

    Raises:
        MediaError: missing, no image, damaged or too large.
    """
    check_file(path)
    with opened(path) as image:
        depth = bit_depth(path, image)  # asked first: reading EXIF may load the pixels
        codes = deep_codes(path, image, depth) if depth > 8 else eight_bit_codes(image)
        grey = codes.ndim == 2 or codes.shape[2] == 2
        details = details_of(path, image, bit_depth=depth, grey=grey)
        upright = orientation_of(image).apply(codes)
    return picture_of_codes(upright), details


def picture_of_codes(codes: Plane) -> Picture:
    """A picture over grey, grey and alpha, RGB or RGBA. Grey without alpha stays one plane."""
    if codes.ndim == 2:
        depth = 8 if codes.dtype == np.uint8 else 16
        return YuvPicture((codes,), Layout(Coding(Matrix.BT601, full_range=True, bit_depth=depth)))
    if codes.shape[2] == 2:
        return BgrPicture(cast("Plane", cv2.cvtColor(codes[..., 0], cv2.COLOR_GRAY2BGR)), codes[..., 1].copy())
    if codes.shape[2] == 3:
        return BgrPicture(cast("Plane", cv2.cvtColor(codes, cv2.COLOR_RGB2BGR)))
    return BgrPicture(cast("Plane", cv2.cvtColor(codes, cv2.COLOR_RGBA2BGR)), codes[..., 3].copy())
