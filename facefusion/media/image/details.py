"""What belongs to an image beside its pixels, to be carried over to the result."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from PIL import Image, JpegImagePlugin, TiffImagePlugin

from facefusion.core.values import Size
from facefusion.media.image.box_file import item_properties
from facefusion.media.image.colour_codes import ColourCodes, from_nclx
from facefusion.media.image.exif import ORIENTATION, read_exif
from facefusion.media.image.facts import HEADER_BYTES
from facefusion.media.image.png import png_colour
from facefusion.media.image.tiff import X_RESOLUTION

EXIF_IFD, XMP_TAG = 0x8769, 700
PIXEL_WIDTH, PIXEL_HEIGHT = 40962, 40963
"""EXIF's own words for the size, in its sub-directory."""
STORAGE_TAGS = frozenset(
    (254, 255, 256, 257, 258, 259, 262, 263, 266, ORIENTATION, 273, 277, 278, 279, 284, 317, 320, 322, 323, 324)
) | {
    325,
    330,
    338,
    339,
    347,
    512,
    513,
    514,
    515,
    517,
    518,
    519,
    520,
    521,
    529,
    530,
    531,
    532,
    XMP_TAG,
    33723,
    34377,
    34675,
}
"""Tags of a TIFF directory that say how its pixels are stored, or hold what is carried over by itself."""

XMP_ORIENTATION = re.compile(rb"(tiff:Orientation(?:\s*=\s*[\"']|\s*>\s*))[2-8]")
PNG_XMP = "XML:com.adobe.xmp"
SUBSAMPLINGS = {444: 0, 422: 1, 420: 2}
"""Chroma of a HEIF file as Pillow numbers it for JPEG."""
IPTC_RESOURCE = 0x0404
"""Photoshop's number of the IPTC block."""
LONGEST_SEGMENT = 65000
"""Bytes that fit into one segment of a JPEG, less some room for its head."""


@dataclass(frozen=True, slots=True)
class ImageDetails:
    """What a result takes over from its source beside the pixels."""

    icc_profile: bytes | None = None
    exif: bytes = b""
    """Without the orientation, which is applied to the pixels, and without the preview, which shows the source."""
    xmp: bytes = b""
    """With the orientation reset."""
    colour_codes: ColourCodes | None = None
    """Where there is no profile, or a PNG has both and these count (W3C PNG, third edition, 4.3)."""
    png_colour: tuple[tuple[bytes, bytes], ...] = ()
    """Kind and body of the chunks with which a PNG tells its gamma and primaries, where they are not those of sRGB."""
    resolution: tuple[float, float] | None = None
    """Pixels per inch."""
    bit_depth: int = 16
    """Bits per component that the source holds; a picture keeps more than 8 in 16."""
    grey: bool = False
    """The source has no colour."""
    subsampling: int | None = None
    """Chroma of the source as Pillow numbers it for JPEG (0: 4:4:4, 1: 4:2:2, 2: 4:2:0)."""
    comment: bytes = b""
    """Of a JPEG."""
    iptc: bytes = b""
    """Caption and rights as agencies write them; of a JPEG."""
    texts: tuple[tuple[str, str], ...] = ()
    """Keywords and texts of a PNG."""
    left_out: tuple[str, ...] = ()
    """What else the source holds, which no result keeps."""

    def exif_for(self, size: Size) -> bytes:
        """EXIF of a result of that size."""
        if not self.exif:
            return b""
        exif = Image.Exif()
        exif.load(self.exif)
        inner = exif.get_ifd(EXIF_IFD)
        for tag, length in ((PIXEL_WIDTH, size.width), (PIXEL_HEIGHT, size.height)):
            if tag in inner:
                inner[tag] = length
        return exif.tobytes()


def details_of(path: Path, image: Image.Image, *, bit_depth: int, grey: bool) -> ImageDetails:
    """Read the details of an opened image.

    Args:
        path: of the file.
        image: opened.
        bit_depth: bits per component in the file.
        grey: the pixels have no colour.
    """
    left_out = list(_left_out(image))
    exif = read_exif(image)
    if exif is None:
        left_out.append("EXIF data, which is damaged")
    converted = image.mode in ("CMYK", "LAB")
    profile = None if converted else image.info.get("icc_profile") or None
    codes = _colour_codes(path, image) if profile is None or image.format == "PNG" else None
    return ImageDetails(
        icc_profile=profile,
        exif=_lasting(exif) if exif is not None else b"",
        xmp=_xmp(image),
        colour_codes=codes,
        png_colour=() if profile or codes else png_colour(image),
        resolution=_resolution(image),
        bit_depth=bit_depth,
        grey=grey,
        subsampling=_subsampling(path, image),
        comment=bytes(image.info.get("comment") or b"") if image.format in ("JPEG", "MPO") else b"",
        iptc=_iptc(image),
        texts=_texts(image),
        left_out=tuple(left_out),
    )


def _lasting(found: Image.Exif) -> bytes:
    """A copy of what says something about the picture, not about the file."""
    exif = Image.Exif()
    exif.load(found.tobytes())
    for tag in STORAGE_TAGS:
        exif.pop(tag, None)
    return exif.tobytes() if len(exif) else b""


def _xmp(image: Image.Image) -> bytes:
    found = image.info.get("xmp") or image.info.get(PNG_XMP) or b""
    if not found and isinstance(image, TiffImagePlugin.TiffImageFile):
        found = image.tag_v2.get(XMP_TAG, b"")
    packet = found.encode() if isinstance(found, str) else bytes(found)
    return XMP_ORIENTATION.sub(rb"\g<1>1", packet)


def _colour_codes(path: Path, image: Image.Image) -> ColourCodes | None:
    codes = None
    if image.format == "HEIF":
        said = image.info.get("nclx_profile")
        codes = ColourCodes(said["color_primaries"], said["transfer_characteristics"]) if said else None
    elif image.format == "AVIF":
        data = _head(path)
        found = [from_nclx(data[part.start : part.end]) for part in item_properties(data) if part.kind == b"colr"]
        codes = next((each for each in found if each is not None), None)
    elif image.format == "PNG":
        data = _head(path)
        position = data.find(b"cICP", 0, max(data.find(b"IDAT"), 0))
        codes = ColourCodes(data[position + 4], data[position + 5]) if position >= 0 else None
    return None if codes is None or codes.plain else codes


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(HEADER_BYTES)


def _resolution(image: Image.Image) -> tuple[float, float] | None:
    said = image.info.get("dpi")
    if isinstance(image, TiffImagePlugin.TiffImageFile) and X_RESOLUTION not in image.tag_v2:
        return None  # Pillow takes it for 1
    if not said or not all(float(each) > 0 for each in said[:2]):
        return None
    return float(said[0]), float(said[1])


def _subsampling(path: Path, image: Image.Image) -> int | None:
    if isinstance(image, JpegImagePlugin.JpegImageFile):
        number = JpegImagePlugin.get_sampling(image)
        return number if number >= 0 else None
    if image.format == "HEIF":
        return SUBSAMPLINGS.get(cast("int", image.info.get("chroma")))
    if image.format == "AVIF":
        data = _head(path)
        flags = next((data[part.start + 2] for part in item_properties(data) if part.kind == b"av1C"), 0x0C)
        return {0x00: 0, 0x08: 1}.get(flags & 0x0C, 2)
    return None


def _iptc(image: Image.Image) -> bytes:
    resources = image.info.get("photoshop")
    return bytes(resources.get(IPTC_RESOURCE) or b"") if isinstance(resources, dict) else b""


def _texts(image: Image.Image) -> tuple[tuple[str, str], ...]:
    if image.format != "PNG":
        return ()
    texts: dict[str, str] = getattr(image, "text", {})
    return tuple(
        (key, str(text)) for key, text in texts.items() if key != PNG_XMP and not key.startswith("Raw profile")
    )


def _left_out(image: Image.Image) -> Iterator[str]:
    if image.format == "MPO":
        yield "further pictures in the file (a gain map, a second view)"
    if image.format == "HEIF":
        if getattr(image, "n_frames", 1) > 1:
            yield "further pictures in the file"
        if image.info.get("aux"):
            yield "auxiliary pictures (a gain map, say)"
        if image.info.get("depth_images"):
            yield "a depth map"
