"""From an opened image to arrays of 8-bit codes (grey, grey and alpha, RGB or RGBA), and between depths."""

from __future__ import annotations

import io
from typing import cast

import numpy as np
from PIL import Image, ImageCms

from facefusion.vision.colour import Plane

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


def stretch(codes: Plane, depth: int, to: int) -> Plane:
    """Codes of another depth, black and white staying black and white. There and back gives the same codes."""
    if depth == to:
        return codes
    peak, wanted = (1 << depth) - 1, (1 << to) - 1
    scaled = (codes.astype(np.uint32) * wanted + peak // 2) // peak
    return scaled.astype(np.uint8) if to == 8 else scaled.astype(np.uint16)


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


def cmyk_profile(image: Image.Image) -> ImageCms.ImageCmsProfile | None:
    """The profile of a CMYK image; none where it has none, or one that is broken or describes other colours."""
    try:
        profile = ImageCms.ImageCmsProfile(io.BytesIO(image.info.get("icc_profile") or b""))
    except (ImageCms.PyCMSError, OSError):
        return None
    return profile if profile.profile.xcolor_space.strip() == "CMYK" else None


def _to_srgb(image: Image.Image) -> Image.Image:
    source = cmyk_profile(image)
    if image.mode == "LAB":
        source = ImageCms.ImageCmsProfile(ImageCms.createProfile("LAB"))
    if source is None:
        return image.convert("RGB")
    try:
        converted = ImageCms.profileToProfile(image, source, ImageCms.createProfile("sRGB"), outputMode="RGB")
    except ImageCms.PyCMSError as error:
        raise ValueError(f"its {image.mode} colour profile cannot be used: {error}") from error
    return cast("Image.Image", converted)
