"""PNG of 8 and 16 bits (ISO/IEC 15948)."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

import imagecodecs

from facefusion.media.image.colour_codes import ColourCodes, png_chunk
from facefusion.vision.colour import Plane

SIGNATURE = b"\x89PNG\r\n\x1a\n"
LEVEL = 6
"""Of zlib."""


def encode_png(codes: Plane, pattern: bytes, colour_codes: ColourCodes | None = None) -> bytes:
    """A PNG of pixels of any depth with the metadata of another one.

    Args:
        codes: grey, grey and alpha, RGB or RGBA.
        pattern: a PNG that carries what is to be said beside the pixels.
        colour_codes: written as ``cICP``.
    """
    said = [(kind, body) for kind, body in chunks(pattern) if kind not in (b"IHDR", b"IDAT", b"IEND")]
    if colour_codes:
        said.insert(0, (b"cICP", png_chunk(colour_codes)))
    own = list(chunks(pixels_of(codes)))
    first, rest = own[:1], own[1:]
    return SIGNATURE + b"".join(chunk(kind, body) for kind, body in (*first, *said, *rest))


def pixels_of(codes: Plane) -> bytes:
    """A PNG of pixels and nothing else."""
    return bytes(imagecodecs.png_encode(codes, level=LEVEL))


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
