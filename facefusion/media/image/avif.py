"""AVIF of 8, 10 and 12 bits.

The encoder takes no metadata, so the profile, EXIF and XMP are laid into its file (ISO/IEC 23008-12): a property of
the picture, and items that describe it.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import imagecodecs

from facefusion.media.image.box_file import FULL_BOX, Box, box, boxes, full_box
from facefusion.media.image.colour_codes import UNSPECIFIED, ColourCodes
from facefusion.vision.colour import Plane

SPEED = 6
"""Of the encoder, 0 (best) to 10."""
LOSSLESS = 100
SRGB = ColourCodes(1, 13)
BT601, IDENTITY = 6, 0
"""Matrices; the second keeps RGB as it is."""
EXIF_HEADER = b"Exif\0\0"
PICTURE = 1
"""Number of the picture among the encoder's items."""
XMP_TYPE = b"application/rdf+xml\0"


class Item(NamedTuple):
    """A piece of metadata."""

    kind: bytes
    extra: bytes
    """What follows the kind in the item's entry."""
    body: bytes


def encode_avif(
    codes: Plane,
    bit_depth: int,
    *,
    quality: int,
    chroma: int,
    colour_codes: ColourCodes | None,
    profile: bytes,
    exif: bytes,
    xmp: bytes,
) -> bytes:
    """An AVIF still; at quality 100 without loss.

    Args:
        codes: RGB or RGBA.
        bit_depth: 8, 10 or 12.
        quality: 0..100.
        chroma: 444, 422 or 420.
        colour_codes: of the pixels; sRGB where neither these nor a profile are given.
        profile: ICC profile; may be empty, like the next two.
        exif: with or without its own header.
        xmp: a packet.
    """
    lossless = quality == LOSSLESS
    unsaid = ColourCodes(UNSPECIFIED, UNSPECIFIED) if profile else SRGB
    primaries, transfer = colour_codes or unsaid
    data = bytes(
        imagecodecs.avif_encode(
            codes,
            level=quality,
            speed=SPEED,
            bitspersample=bit_depth,
            pixelformat="444" if lossless else str(chroma),
            primaries=primaries,
            transfer=transfer,
            matrix=IDENTITY if lossless else BT601,
            numthreads=1,
        )
    )
    items = []
    if exif:
        items.append(Item(b"Exif", b"", b"\0\0\0\0" + exif.removeprefix(EXIF_HEADER)))
    if xmp:
        items.append(Item(b"mime", XMP_TYPE, xmp))
    return _with_metadata(data, items, profile) if items or profile else data


def _with_metadata(data: bytes, items: list[Item], profile: bytes) -> bytes:
    """The file with items and a profile more. It comes from the encoder, so its structure is known."""
    top = {found.kind: found for found in boxes(data)}
    meta = top[b"meta"]
    grown = _meta(data, meta, items, profile, growth=0, bodies=0)
    growth = len(grown) - (meta.end - meta.start + 8)
    body = box(b"mdat", *(item.body for item in items)) if items else b""
    bodies = len(data) + growth + 8
    grown = _meta(data, meta, items, profile, growth=growth, bodies=bodies)
    return data[: meta.start - 8] + grown + data[meta.end :] + body


def _meta(data: bytes, meta: Box, items: list[Item], profile: bytes, *, growth: int, bodies: int) -> bytes:
    """The ``meta`` box: existing data moves by ``growth``, the new items' lies at ``bodies``."""
    parts = {found.kind: found for found in boxes(data, meta.start + FULL_BOX, meta.end)}
    numbers = range(1 + struct.unpack_from(">H", data, parts[b"iinf"].start + FULL_BOX)[0], 1 << 16)
    numbered = list(zip(numbers, items, strict=False))
    written = []
    for kind, part in parts.items():
        body = data[part.start : part.end]
        if kind == b"iinf":
            body = _entries(body, numbered)
        elif kind == b"iloc":
            body = _locations(body, numbered, growth, bodies)
        elif kind == b"iref":
            body += _references(numbered)
        elif kind == b"iprp" and profile:
            body = _properties(data, part, profile)
        written.append(box(kind, body))
        if kind == b"iinf" and b"iref" not in parts and items:
            written.append(full_box(b"iref", 0, _references(numbered)))
    return full_box(b"meta", 0, *written)


def _entries(body: bytes, items: list[tuple[int, Item]]) -> bytes:
    (count,) = struct.unpack_from(">H", body, FULL_BOX)
    added = [
        full_box(b"infe", 2, struct.pack(">HH4s", number, 0, item.kind), b"\0", item.extra) for number, item in items
    ]
    return body[:FULL_BOX] + struct.pack(">H", count + len(items)) + body[FULL_BOX + 2 :] + b"".join(added)


def _locations(body: bytes, items: list[tuple[int, Item]], growth: int, bodies: int) -> bytes:
    """Version 0 with offsets and lengths of four bytes, one extent per item, as the encoder writes it."""
    head, count = struct.unpack_from(">HH", body, FULL_BOX)
    if body[0] != 0 or head != 0x4400:
        raise ValueError("the AVIF encoder lays out its file in a way that is not known")
    entries = []
    for index in range(count):
        number, source, extents, offset, length = struct.unpack_from(">HHHII", body, FULL_BOX + 4 + 14 * index)
        entries.append(struct.pack(">HHHII", number, source, extents, offset + growth, length))
    for number, item in items:
        entries.append(struct.pack(">HHHII", number, 0, 1, bodies, len(item.body)))
        bodies += len(item.body)
    return body[:FULL_BOX] + struct.pack(">HH", head, len(entries)) + b"".join(entries)


def _references(items: list[tuple[int, Item]]) -> bytes:
    return b"".join(box(b"cdsc", struct.pack(">HHH", number, 1, PICTURE)) for number, _ in items)


def _properties(data: bytes, part: Box, profile: bytes) -> bytes:
    """One property more, the profile, and the picture's list of properties with it."""
    shared, associations = (found for found in boxes(data, part.start, part.end))
    properties = list(boxes(data, shared.start, shared.end))
    added = box(b"colr", b"prof", profile)
    listed = bytearray(data[associations.start : associations.end])
    position = FULL_BOX + 4
    while struct.unpack_from(">H", listed, position)[0] != PICTURE:
        position += 3 + listed[position + 2]
    listed[position + 2] += 1
    listed.insert(position + 2 + listed[position + 2], len(properties) + 1)
    return box(b"ipco", data[shared.start : shared.end], added) + box(b"ipma", bytes(listed))
