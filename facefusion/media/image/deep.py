"""Decoding components of more than 8 bits.

Pillow shows colour of any depth as 8 bits, and grey of 16 bits as the file has it; so colour is decoded by others.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias, cast

import cv2
import imagecodecs
import numpy as np
import numpy.typing as npt
import pillow_heif
from PIL import Image, TiffImagePlugin

from facefusion.media.image.pixels import stretch
from facefusion.media.image.tiff import EXTRA_SAMPLES, PHOTOMETRIC, PREMULTIPLIED_ALPHA, RGB, STRAIGHT_ALPHA
from facefusion.vision.colour import Plane

Deep: TypeAlias = npt.NDArray[np.uint16]

PLANES, SEPARATE = 284, 2
"""TIFF's tag for how components lie, and its value where each has a plane of its own."""
WHITE_IS_ZERO = 0
PEAK = 65535

# What is damaged is raised; that its decoders stumbled over it would be said in words of theirs.
logging.getLogger("imagecodecs").setLevel(logging.ERROR)


def deep_codes(path: Path, image: Image.Image, bit_depth: int) -> Plane:
    """The pixels of an opened image of more than 8 bits, stretched to 16 so that white is 65535.

    Args:
        path: of the file.
        image: opened.
        bit_depth: bits per component in the file.

    Raises:
        ValueError: the data is damaged or breaks off.
    """
    try:
        codes = _decode(path, image, bit_depth)
    except (RuntimeError, IndexError, EOFError) as error:
        raise ValueError(str(error) or "its pixels cannot be decoded") from error
    return stretch(codes, bit_depth, 16)


def _decode(path: Path, image: Image.Image, bit_depth: int) -> Deep:
    if image.format == "HEIF":
        photo = pillow_heif.open_heif(path, convert_hdr_to_8bit=False)
        return cast("Deep", np.asarray(photo) >> (16 - bit_depth))
    if isinstance(image, TiffImagePlugin.TiffImageFile):
        return _tiff(path, image, bit_depth)
    if image.mode.startswith("I"):
        return _with_transparent_grey(np.asarray(image).astype(np.uint16), image.info.get("transparency"))
    if image.format == "PPM":
        image.load()  # finds out whether the file breaks off
        data = np.frombuffer(path.read_bytes(), np.uint8)
        return cast("Deep", cv2.cvtColor(cast("Deep", cv2.imdecode(data, cv2.IMREAD_UNCHANGED)), cv2.COLOR_BGR2RGB))
    decoders: dict[str, Callable[[bytes], object]] = {
        "AVIF": imagecodecs.avif_decode,
        "JPEG2000": imagecodecs.jpeg2k_decode,
        "PNG": imagecodecs.png_decode,
    }
    return cast("Deep", decoders[image.format or ""](path.read_bytes()))


def _with_transparent_grey(grey: Deep, transparent: object) -> Deep:
    """PNG's one grey that is not shown."""
    if not isinstance(transparent, int):
        return grey
    return np.dstack((grey, np.where(grey == transparent, 0, PEAK).astype(np.uint16)))


def _tiff(path: Path, image: TiffImagePlugin.TiffImageFile, bit_depth: int) -> Deep:
    """Grey, grey and alpha, RGB or RGBA, black being zero and alpha straight, whatever the file has."""
    grey = image.mode.startswith("I")
    codes: Deep = np.asarray(image).astype(np.uint16) if grey else imagecodecs.tiff_decode(path.read_bytes())
    if image.tag_v2.get(PLANES) == SEPARATE and codes.ndim == 3:
        codes = np.moveaxis(codes, 0, 2)
    colour = codes.reshape(*codes.shape[:2], -1)[..., : 3 if image.tag_v2.get(PHOTOMETRIC) == RGB else 1]
    if image.tag_v2.get(PHOTOMETRIC) == WHITE_IS_ZERO:
        colour = np.uint16((1 << bit_depth) - 1) - colour
    kind = next(iter(image.tag_v2.get(EXTRA_SAMPLES, ())), None)
    if kind in (PREMULTIPLIED_ALPHA, STRAIGHT_ALPHA):
        alpha = codes[..., colour.shape[2]]
        colour = _straight(colour, alpha) if kind == PREMULTIPLIED_ALPHA else colour
        return np.dstack((colour, alpha))
    return colour[..., 0] if colour.shape[2] == 1 else np.ascontiguousarray(colour)


def _straight(colour: Deep, alpha: Deep) -> Deep:
    """Colour that was multiplied by alpha, divided by it again."""
    share = np.maximum(alpha, 1)[..., None].astype(np.uint32)
    straight = (colour.astype(np.uint32) * PEAK + share // 2) // share
    limited: Deep = np.minimum(straight, PEAK).astype(np.uint16)
    return limited
