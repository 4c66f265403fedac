"""PNG of 8 and 16 bits (ISO/IEC 15948)."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

import imagecodecs

from facefusion.vision.colour import Plane

SIGNATURE = b"\x89PNG\r\n\x1a\n"
LEVEL = 6
"""Of zlib."""


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
