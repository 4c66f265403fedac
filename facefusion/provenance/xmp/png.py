"""PNG and APNG: a chunk of international text (XMP part 3, 1.1.5; PNG, third edition, 11.3.3.4)."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from facefusion.media.image.png import SIGNATURE, chunk
from facefusion.provenance.xmp.editing import Edit, cut, put
from facefusion.provenance.xmp.scan import Scan, inflated

BEGIN = SIGNATURE
KEYWORD = b"XML:com.adobe.xmp\0"
PLAIN = b"\0\0\0\0"
"""Neither compressed nor with a language or a translated keyword."""
TEXT, COMPRESSED_TEXT = b"iTXt", b"zTXt"
PROFILE = b"Raw profile type xmp\0"
"""ImageMagick's way: hexadecimal digits behind a line with the name and one with the length."""
HEAD = 8


class _Chunk(NamedTuple):
    kind: bytes
    start: int
    body: int
    end: int
    """Of the body; a checksum of four bytes follows."""


def packets(scan: Scan) -> Iterator[bytes]:
    """The packets, before and behind the picture."""
    for found in _chunks(scan):
        if found.kind not in (TEXT, COMPRESSED_TEXT, b"tEXt"):
            continue
        key = scan.at(found.body, min(len(PROFILE), found.end - found.body))
        if found.kind == TEXT and key.startswith(KEYWORD):
            yield _text(scan.at(found.body, found.end - found.body)[len(KEYWORD) :])
        elif found.kind != TEXT and key == PROFILE:
            body = scan.at(found.body, found.end - found.body)[len(PROFILE) :]
            yield _profile(inflated(body[1:]) if found.kind == COMPRESSED_TEXT else body)


def edits(scan: Scan, packet: bytes) -> list[Edit]:
    """What puts the packet behind the header, in place of the one that the file has."""
    found, place = [], len(SIGNATURE)
    for one in _chunks(scan):
        if one.kind == b"IHDR":
            place = one.end + 4
        elif one.kind == TEXT and scan.at(one.body, min(len(KEYWORD), one.end - one.body)) == KEYWORD:
            found.append(cut(one.start, one.end + 4))
    return [*found, put(place, chunk(TEXT, KEYWORD + PLAIN + packet))]


def _chunks(scan: Scan) -> Iterator[_Chunk]:
    place = len(SIGNATURE)
    while place + HEAD <= scan.size:
        scan.count()
        length, kind = struct.unpack(">I4s", scan.at(place, HEAD))
        yield _Chunk(kind, place, place + HEAD, place + HEAD + length)
        if kind == b"IEND":
            return
        place += HEAD + length + 4


def _text(body: bytes) -> bytes:
    compressed, method = body[:2]
    _, _, text = body[2:].split(b"\0", 2)
    if not compressed:
        return text
    if method:
        raise zlib.error
    return inflated(text)


def _profile(text: bytes) -> bytes:
    _, _, digits = text.strip().split(b"\n", 2)
    return bytes.fromhex(digits.decode("ascii"))
