"""PNG of 8 and 16 bits (ISO/IEC 15948)."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

import imagecodecs
from PIL import Image

from facefusion.vision.colour import Plane

SIGNATURE = b"\x89PNG\r\n\x1a\n"
LEVEL = 6
"""Of zlib."""
UNIT = 100_000
"""By which gamma and chromaticities are multiplied in the file."""
SRGB_GAMMA = 0.45455
SRGB_CORNERS = (0.3127, 0.329, 0.64, 0.33, 0.3, 0.6, 0.15, 0.06)
"""x and y of white, red, green and blue."""
TOLERANCE = 0.005
"""Less is rounding, by whoever wrote the file."""


def png_colour(image: Image.Image) -> tuple[tuple[bytes, bytes], ...]:
    """The chunks of an opened PNG that tell its gamma and primaries, where they are not those of sRGB."""
    if image.format != "PNG" or "srgb" in image.info:
        return ()
    said = []
    gamma, corners = image.info.get("gamma"), image.info.get("chromaticity")
    if gamma and abs(gamma - SRGB_GAMMA) > TOLERANCE:
        said.append((b"gAMA", struct.pack(">I", round(gamma * UNIT))))
    if corners and any(abs(x - y) > TOLERANCE for x, y in zip(corners, SRGB_CORNERS, strict=True)):
        said.append((b"cHRM", struct.pack(">8I", *(round(each * UNIT) for each in corners))))
    return tuple(said)


def encode_png(codes: Plane, said: list[tuple[bytes, bytes]]) -> bytes:
    """A PNG.

    Args:
        codes: grey, grey and alpha, RGB or RGBA, 8 or 16 bits.
        said: kind and body of the chunks that come before the pixels.
    """
    first, *rest = chunks(pixels_of(codes))
    return SIGNATURE + b"".join(chunk(kind, body) for kind, body in (first, *said, *rest))


def pixels_of(codes: Plane, level: int = LEVEL) -> bytes:
    """A PNG of pixels and nothing else; ``level`` of zlib."""
    return bytes(imagecodecs.png_encode(codes, level=level))


def chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Kind and body of each chunk of a PNG; a last one may break off."""
    position = len(SIGNATURE)
    while position + 8 <= len(data):
        size, kind = struct.unpack_from(">I4s", data, position)
        yield kind, data[position + 8 : position + 8 + size]
        position += 12 + size


def chunk(kind: bytes, body: bytes) -> bytes:
    """A chunk with its length and check sum."""
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
