"""From an opened image to arrays of codes: grey, grey and alpha, RGB or RGBA."""

from __future__ import annotations

import io
from pathlib import Path
from typing import cast

import imagecodecs
import numpy as np
import pillow_heif
from PIL import Image, ImageCms

from facefusion.vision.colour import Plane

SIXTEEN_BITS = 65535
PLAIN_MODES = ("L", "LA", "RGB", "RGBA")


def eight_bit_codes(image: Image.Image) -> Plane:
    """The pixels as Pillow decodes them; palettes, CMYK and CIELAB turned to RGB.

    Raises:
        OSError: the data is damaged or breaks off.
        ValueError: a profile cannot be used.
    """
    return np.array(_plain(image))


def decode_eight_bits(data: bytes) -> Plane:
    """As :func:`eight_bit_codes`, of a file in memory."""
    with Image.open(io.BytesIO(data)) as image:
        return eight_bit_codes(image)


def deep_codes(path: Path, image: Image.Image, bit_depth: int) -> Plane:
    """The pixels of an image of more than 8 bits, stretched to 16 so that white is 65535.

    Pillow shows 16-bit grey as it is, and colour of any depth as 8 bits; so colour is decoded by others.

    Raises:
        ValueError: the data is damaged or breaks off.
    """
    if image.mode.startswith("I;16"):
        codes: Plane = np.asarray(image).astype(np.uint16)
    else:
        try:
            codes = _decode(path, image.format or "", bit_depth)
        except (RuntimeError, IndexError, EOFError) as error:
            raise ValueError(str(error) or "its pixels cannot be decoded") from error
    return stretch(codes, bit_depth, 16)


def stretch(codes: Plane, depth: int, to: int) -> Plane:
    """Codes of another depth, black and white staying black and white. There and back gives the same codes."""
    if depth == to:
        return codes
    peak, wanted = (1 << depth) - 1, (1 << to) - 1
    scaled = (codes.astype(np.uint32) * wanted + peak // 2) // peak
    return scaled.astype(np.uint8) if to == 8 else scaled.astype(np.uint16)


def _decode(path: Path, format_name: str, bit_depth: int) -> Plane:
    if format_name == "HEIF":
        photo = pillow_heif.open_heif(path, convert_hdr_to_8bit=False)
        return cast("Plane", np.asarray(photo) >> (16 - bit_depth))
    data = path.read_bytes()
    decode = {
        "AVIF": imagecodecs.avif_decode,
        "PNG": imagecodecs.png_decode,
        "TIFF": imagecodecs.tiff_decode,
    }[format_name]
    return cast("Plane", decode(data))


def _plain(image: Image.Image) -> Image.Image:
    mode = image.mode
    if mode in PLAIN_MODES:
        return image.convert("RGBA" if mode == "RGB" else "LA") if "transparency" in image.info else image
    if mode in ("CMYK", "LAB"):
        return _to_srgb(image)
    if mode == "1":
        return image.convert("L")
    if mode == "La":
        return image.convert("LA")
    return image.convert("RGBA" if image.has_transparency_data or mode == "RGBa" else "RGB")


def _to_srgb(image: Image.Image) -> Image.Image:
    profile = image.info.get("icc_profile")
    if image.mode == "CMYK" and not profile:
        return image.convert("RGB")
    try:
        if image.mode == "CMYK" and profile:
            source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        else:
            source = ImageCms.ImageCmsProfile(ImageCms.createProfile("LAB"))
        converted = ImageCms.profileToProfile(image, source, ImageCms.createProfile("sRGB"), outputMode="RGB")
    except ImageCms.PyCMSError as error:
        raise ValueError(f"its {image.mode} colour profile cannot be used: {error}") from error
    return cast("Image.Image", converted)
