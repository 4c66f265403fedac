"""From codes to the bytes of a file, one function per format."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pillow_heif
from PIL import Image, PngImagePlugin

from facefusion.core.values import Size
from facefusion.media.image.avif import encode_avif
from facefusion.media.image.colour_codes import png_chunk
from facefusion.media.image.details import IPTC_RESOURCE, LONGEST_SEGMENT, PNG_XMP, ImageDetails
from facefusion.media.image.formats import AVIF, BMP, GIF, HEIF, JPEG, PNG, TIFF, WEBP, StillFormat
from facefusion.media.image.gif_palette import to_palette
from facefusion.media.image.png import chunks, encode_png
from facefusion.media.image.prepare import Prepared, profile_fits
from facefusion.media.image.tiff import encode_tiff
from facefusion.vision.colour import Plane

FULL_CHROMA_FROM = 90
"""JPEG and AVIF quality from which chroma is not subsampled, where the source does not say how it was."""
LOSSLESS = 100
"""WebP and AVIF quality at which they are written without loss."""
CHROMA = {0: 444, 1: 422, 2: 420}
COMMON_CHROMA = 2
"""4:2:0: the chroma that every viewer of HEIC photos decodes."""
SRGB = (1, 13)
"""Primaries and transfer of a picture that says nothing about its colours."""

Encoder: TypeAlias = Callable[[Prepared, int, ImageDetails], bytes]


def encode(prepared: Prepared, still: StillFormat, quality: int, details: ImageDetails) -> bytes:
    """The file.

    Args:
        prepared: what to write.
        still: in which format.
        quality: 0..100, for the formats that lose.
        details: what goes along, as far as the format holds it.
    """
    return ENCODERS[still.name](prepared, quality, details)


def _bmp(prepared: Prepared, _: int, details: ImageDetails) -> bytes:
    return _saved(prepared.codes, BMP.name, **_dpi(details))


def _jpeg(prepared: Prepared, quality: int, details: ImageDetails) -> bytes:
    said = metadata(prepared.codes, details)
    fits = {name: body for name, body in said.items() if name == "icc_profile" or len(body) <= LONGEST_SEGMENT}
    options = fits | _dpi(details)
    if details.comment:
        options["comment"] = details.comment
    if details.iptc and len(details.iptc) <= LONGEST_SEGMENT:
        options["extra"] = _photoshop_segment(details.iptc)
    chroma = _chroma(quality, details)
    return _saved(prepared.codes, JPEG.name, quality=max(quality, 1), subsampling=chroma, **options)


def _photoshop_segment(iptc: bytes) -> bytes:
    """The segment of a JPEG that holds Photoshop's resources, with the one of IPTC in it."""
    resource = b"8BIM" + struct.pack(">HHI", IPTC_RESOURCE, 0, len(iptc)) + iptc + b"\0" * (len(iptc) % 2)
    body = b"Photoshop 3.0\0" + resource
    return b"\xff\xed" + struct.pack(">H", 2 + len(body)) + body


def _webp(prepared: Prepared, quality: int, details: ImageDetails) -> bytes:
    options = metadata(prepared.codes, details)
    return _saved(prepared.codes, WEBP.name, quality=quality, lossless=quality == LOSSLESS, exact=True, **options)


def _gif(prepared: Prepared, quality: int, details: ImageDetails) -> bytes:
    buffer = io.BytesIO()
    image, transparent, _ = to_palette(prepared.codes)
    image.save(buffer, GIF.name, **({} if transparent is None else {"transparency": transparent}))
    return buffer.getvalue()


def _png(prepared: Prepared, _: int, details: ImageDetails) -> bytes:
    return encode_png(prepared.codes, png_metadata(prepared.codes, details))


def png_metadata(codes: Plane, details: ImageDetails) -> list[tuple[bytes, bytes]]:
    """The chunks that say what belongs to a picture beside its pixels, out of a PNG that Pillow writes of one pixel."""
    texts = PngImagePlugin.PngInfo()
    for key, text in details.texts:
        texts.add_itxt(key, text)
    if details.xmp:
        texts.add_itxt(PNG_XMP, details.xmp.decode(errors="replace"))
    options = metadata(codes, details) | _dpi(details)
    options.pop("xmp", None)
    pattern = _saved(np.zeros_like(codes[:1, :1], np.uint8), PNG.name, pnginfo=texts, **options)
    said = [(kind, body) for kind, body in chunks(pattern) if kind not in (b"IHDR", b"IDAT", b"IEND")]
    described = [(b"cICP", png_chunk(details.colour_codes))] if details.colour_codes else []
    return [*described, *details.png_colour, *said]


def _tiff(prepared: Prepared, _: int, details: ImageDetails) -> bytes:
    fits = _profile(prepared.codes, details)
    return encode_tiff(
        prepared.codes,
        profile=fits,
        exif=_exif(prepared.codes, details),
        xmp=details.xmp,
        resolution=details.resolution,
    )


def _avif(prepared: Prepared, quality: int, details: ImageDetails) -> bytes:
    return encode_avif(
        prepared.codes,
        prepared.bit_depth,
        quality=quality,
        chroma=CHROMA[_chroma(quality, details)],
        colour_codes=details.colour_codes,
        profile=_profile(prepared.codes, details),
        exif=_exif(prepared.codes, details),
        xmp=details.xmp,
    )


def _heif(prepared: Prepared, quality: int, details: ImageDetails) -> bytes:
    codes = prepared.codes
    deep = prepared.bit_depth > 8
    if deep:
        codes = (codes << (16 - prepared.bit_depth)).astype(np.uint16)
    mode = ("RGB" if codes.shape[2] == 3 else "RGBA") + (";16" if deep else "")
    primaries, transfer = details.colour_codes or SRGB
    chroma = CHROMA[COMMON_CHROMA if details.subsampling is None else details.subsampling]
    buffer = io.BytesIO()
    options = metadata(prepared.codes, details)
    pillow_heif.encode(
        mode,
        (codes.shape[1], codes.shape[0]),
        codes.tobytes(),
        buffer,
        quality=quality,
        chroma=chroma,
        color_primaries=primaries,
        transfer_characteristics=transfer,
        matrix_coefficients=6,
        full_range_flag=1,
        **options,
    )
    return buffer.getvalue()


ENCODERS: dict[str, Encoder] = {
    AVIF.name: _avif,
    BMP.name: _bmp,
    GIF.name: _gif,
    HEIF.name: _heif,
    JPEG.name: _jpeg,
    PNG.name: _png,
    TIFF.name: _tiff,
    WEBP.name: _webp,
}


def _saved(codes: Plane, name: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(codes).save(buffer, name, **options)
    return buffer.getvalue()


def _chroma(quality: int, details: ImageDetails) -> int:
    if details.subsampling is not None:
        return details.subsampling
    return 0 if quality >= FULL_CHROMA_FROM else 2


def metadata(codes: Plane, details: ImageDetails) -> dict[str, bytes]:
    """Profile, EXIF and XMP as Pillow's writers take them; without those that there are none of."""
    found = {"icc_profile": _profile(codes, details), "exif": _exif(codes, details), "xmp": details.xmp}
    return {name: value for name, value in found.items() if value}


def _exif(codes: Plane, details: ImageDetails) -> bytes:
    height, width = codes.shape[:2]
    return details.exif_for(Size(width, height))


def _profile(codes: Plane, details: ImageDetails) -> bytes:
    grey = codes.ndim == 2 or codes.shape[2] == 2
    profile = details.icc_profile or b""
    return profile if profile and profile_fits(profile, grey=grey) else b""


def _dpi(details: ImageDetails) -> dict[str, tuple[float, float]]:
    return {"dpi": details.resolution} if details.resolution else {}
