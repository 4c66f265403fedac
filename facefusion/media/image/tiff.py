"""TIFF of 8 and 16 bits with all its metadata (TIFF 6.0, and Adobe's supplement 2 for the compression)."""

from __future__ import annotations

import itertools
import struct
import zlib

import numpy as np
from PIL import Image
from PIL.TiffImagePlugin import ImageFileDirectory_v2

from facefusion.vision.colour import Plane

WIDTH, HEIGHT, BITS, COMPRESSION, PHOTOMETRIC = 256, 257, 258, 259, 262
STRIP_OFFSETS, SAMPLES, ROWS_PER_STRIP, STRIP_SIZES = 273, 277, 278, 279
X_RESOLUTION, Y_RESOLUTION, RESOLUTION_UNIT, PREDICTOR, EXTRA_SAMPLES = 282, 283, 296, 317, 338
XMP, EXIF_IFD, GPS_IFD, ICC_PROFILE = 700, 0x8769, 0x8825, 34675
DEFLATE, DIFFERENCES, INCH = 8, 2, 2
PREMULTIPLIED_ALPHA, STRAIGHT_ALPHA = 1, 2
BYTE, UNDEFINED = 1, 7
GREY, RGB = 1, 2
STRIP_BYTES = 1 << 18
"""About how much lies in one strip before compression."""
HEADER = 8
LEVEL = 6
"""Of zlib."""


def encode_tiff(
    codes: Plane,
    *,
    profile: bytes,
    exif: bytes,
    xmp: bytes,
    resolution: tuple[float, float] | None,
    level: int = LEVEL,
) -> bytes:
    """A TIFF, compressed without loss.

    Args:
        codes: grey, grey and alpha, RGB or RGBA; alpha is straight.
        profile: ICC profile; may be empty, like the next two.
        exif: its tags become those of the file.
        xmp: a packet.
        resolution: pixels per inch.
        level: of zlib.
    """
    layers = codes if codes.ndim == 3 else codes[..., None]
    height, width, channels = layers.shape
    rows = max(STRIP_BYTES // (width * channels * codes.itemsize), 1)
    strips = [_strip(layers[top : top + rows], level) for top in range(0, height, rows)]
    directory = ImageFileDirectory_v2(prefix=b"II")
    _add_exif(directory, exif)
    directory[WIDTH], directory[HEIGHT] = width, height
    directory[BITS] = (codes.itemsize * 8,) * channels
    directory[COMPRESSION], directory[PREDICTOR] = DEFLATE, DIFFERENCES
    directory[PHOTOMETRIC] = GREY if channels < 3 else RGB
    directory[SAMPLES], directory[ROWS_PER_STRIP] = channels, rows
    if channels in (2, 4):
        directory[EXTRA_SAMPLES] = STRAIGHT_ALPHA
    if resolution:
        directory[X_RESOLUTION], directory[Y_RESOLUTION] = resolution
        directory[RESOLUTION_UNIT] = INCH
    if profile:
        directory.tagtype[ICC_PROFILE] = UNDEFINED
        directory[ICC_PROFILE] = profile
    if xmp:
        directory.tagtype[XMP] = BYTE
        directory[XMP] = xmp
    sizes = [len(strip) for strip in strips]
    directory[STRIP_SIZES] = tuple(sizes)
    # Pillow counts these from the end of the directory and adds where that is.
    directory[STRIP_OFFSETS] = (0, *itertools.accumulate(sizes[:-1]))
    return b"".join((b"II*\0" + struct.pack("<I", HEADER), directory.tobytes(HEADER), *strips))


def _strip(rows: Plane, level: int) -> bytes:
    """Differences from the pixel to the left, compressed."""
    values = np.diff(rows, axis=1, prepend=np.zeros_like(rows[:, :1])).astype(rows.dtype.newbyteorder("<"))
    return zlib.compress(values.tobytes(), level)


def _add_exif(directory: ImageFileDirectory_v2, data: bytes) -> None:
    if not data:
        return
    exif = Image.Exif()
    exif.load(data)
    for tag, value in exif.items():
        directory[tag] = value
    for tag in (EXIF_IFD, GPS_IFD):
        inner = exif.get_ifd(tag)
        if inner:
            directory[tag] = dict(inner)
