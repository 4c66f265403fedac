"""What the header of an image says."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageFile, TiffImagePlugin

from facefusion.core.errors import MediaError
from facefusion.core.values import Size
from facefusion.media.image.box_file import item_properties
from facefusion.media.image.exif import orientation_of
from facefusion.media.image.opening import NoImageError, is_sequence, opened
from facefusion.media.image.pixels import cmyk_profile
from facefusion.media.orientation import Orientation

TIFF_BITS, TIFF_SAMPLE_FORMAT = 258, 339
DEEP_PPM = "65535"
"""The value of white in a PPM of 16 bits."""
UNSIGNED = 1
"""TIFF's sample format of whole numbers without a sign."""
HEADER_BYTES = 1 << 16
"""Enough of an AVIF file to hold the properties of its picture."""


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """What the header of an image says."""

    format: str
    """As Pillow calls it."""
    size: Size
    """As stored."""
    mode: str
    """As Pillow calls it."""
    bit_depth: int
    """Bits per component, 8 to 16."""
    orientation: Orientation
    notices: tuple[str, ...] = ()


def image_facts(path: Path) -> ImageFacts | None:
    """Read the header of an image; none where the file is no image, or a sequence in the manner of a video.

    Of an animated image the first frame is meant; :func:`facefusion.media.animation.animation_facts` knows the others.

    Raises:
        MediaError: the picture is too large, damaged, or of a kind that is not read.
    """
    if is_sequence(path):
        return None
    try:
        with opened(path) as image:
            return ImageFacts(
                format=image.format or "",
                size=Size(*image.size),
                mode=image.mode,
                bit_depth=bit_depth(path, image),
                orientation=orientation_of(image),
                notices=tuple(_notices(path, image)),
            )
    except NoImageError:
        return None


def bit_depth(path: Path, image: Image.Image) -> int:
    """Bits per component in the file; 8 where it has fewer. Pillow itself shows colour of any depth as 8 bits.

    Raises:
        MediaError: the components are floats, have a sign, or more than 16 bits.
    """
    if image.format == "HEIF":
        return int(image.info.get("bit_depth", 8))
    if image.format == "AVIF":
        return _avif_depth(path)
    if isinstance(image, TiffImagePlugin.TiffImageFile):
        return _tiff_depth(path, image)
    if image.format == "JPEG2000":
        return _jpeg_2000_depth(path)
    stored = str(image.tile[0].args) if isinstance(image, ImageFile.ImageFile) and image.tile else ""
    deep = image.mode.startswith("I") or ";16" in stored or (image.format == "PPM" and DEEP_PPM in stored)
    return 16 if deep else 8


def _jpeg_2000_depth(path: Path) -> int:
    """From the ``SIZ`` segment (ISO/IEC 15444-1, A.5.1): the bits of the first component, less one."""
    with path.open("rb") as file:
        data = file.read(HEADER_BYTES)
    position = data.find(b"\xff\x4f\xff\x51") + 42
    return max((data[position] & 0x7F) + 1, 8) if 42 <= position < len(data) else 8


def _avif_depth(path: Path) -> int:
    """From ``av1C`` (AV1 in ISOBMFF, 2.3.3): its third byte holds ``high_bitdepth`` and ``twelve_bit``."""
    with path.open("rb") as file:
        data = file.read(HEADER_BYTES)
    for found in item_properties(data):
        if found.kind == b"av1C":
            flags = data[found.start + 2]
            return (12 if flags & 0x20 else 10) if flags & 0x40 else 8
    return 8


def _tiff_depth(path: Path, image: TiffImagePlugin.TiffImageFile) -> int:
    bits = max(image.tag_v2.get(TIFF_BITS, (1,)))
    if image.tag_v2.get(TIFF_SAMPLE_FORMAT, (UNSIGNED,))[0] != UNSIGNED or bits > 16:
        raise MediaError(
            f"{path} is a TIFF of {bits}-bit components that are no plain whole numbers of up to 16 bits",
            "Convert it to a TIFF or PNG of 16 bits first.",
        )
    if image.mode in ("P", "CMYK", "LAB", "YCbCr"):
        return 8
    return int(bits) if bits > 8 else 8


def _notices(path: Path, image: Image.Image) -> list[str]:
    notices = []
    if image.format == "TIFF" and getattr(image, "n_frames", 1) > 1:
        notices.append(f"{path.name} has several pages; the first is used.")
    if image.mode in ("CMYK", "LAB"):
        name = "CMYK" if image.mode == "CMYK" else "CIELAB"
        notices.append(f"{path.name} is in {name}; it is converted to sRGB and written so.")
    if image.mode == "CMYK" and image.info.get("icc_profile") and cmyk_profile(image) is None:
        notices.append(f"{path.name} has a colour profile that is broken, or not of CMYK; its colours are estimated.")
    return notices
