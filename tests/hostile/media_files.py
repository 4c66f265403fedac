"""Images and videos that are not what they say, or say more than anybody can hold."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import pillow_heif
from PIL import Image

from tests.media.clips import make_clip

BOMB = zlib.compress(bytes(64 << 20), 9)
"""64 MB in 64 KB."""
PNG_HEAD, PNG_END = b"\x89PNG\r\n\x1a\n", b"IEND"
SIDE = 60000
"""Pixels; a picture with two such sides is beyond what is accepted."""


def pictures() -> Iterator[tuple[str, bytes]]:
    """Names and contents."""
    yield from _png()
    yield from _gif()
    yield from _tiff()
    yield from _jpeg()
    yield from _in_boxes()
    yield "side.bmp", _bmp(SIDE, SIDE)
    yield "negative.bmp", _bmp(-SIDE, -(1 << 31))
    yield "side.ppm", f"P6\n{SIDE} {SIDE}\n255\n".encode()
    yield "digits.ppm", b"P6\n" + b"9" * 100000 + b" 1\n255\n"
    size = struct.pack(">HHIIIIIIIIH", 47, 0, SIDE, SIDE, 0, 0, SIDE, SIDE, 0, 0, 3) + b"\7\1\1" * 3
    yield "side.jp2", b"\xff\x4f\xff\x51" + size
    moving = _riff(b"VP8X", b"\x02\0\0\0" + b"\xff" * 6) + _riff(b"ANIM", bytes(6)) + _riff(b"ANMF", bytes(16))
    yield "side.webp", b"RIFF" + struct.pack("<I", len(moving) + 4) + b"WEBP" + moving


def _chunk(kind: bytes, body: bytes = b"") -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _png() -> Iterator[tuple[str, bytes]]:
    def head(width: int, height: int) -> bytes:
        return PNG_HEAD + _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))

    small, picture, end = head(4, 4), _chunk(b"IDAT", zlib.compress(bytes(52))), _chunk(PNG_END)
    text = b"XML:com.adobe.xmp\0\1\0\0\0" + BOMB
    yield "side.png", head(SIDE, SIDE) + picture + end
    yield "words.png", small + _chunk(b"iTXt", text) + picture + end
    yield "words_behind.png", small + picture + _chunk(b"iTXt", text) + end
    yield "comment.png", small + _chunk(b"zTXt", b"Comment\0\0" + BOMB) + picture + end
    comment = _chunk(b"zTXt", b"Comment\0\0" + zlib.compress(bytes(1 << 20)))
    yield "comments.png", small + comment * 100 + picture + end
    yield "profile.png", small + _chunk(b"iCCP", b"profile\0\0" + BOMB) + picture + end
    yield "pixels.png", small + _chunk(b"IDAT", BOMB) + end
    yield "length.png", small + struct.pack(">I4s", 0x7FFFFFFF, b"IDAT") + bytes(64)
    # Delays whose common denominator has tens of thousands of digits.
    frames = [
        _chunk(b"fcTL", struct.pack(">IIIIIHHBB", index, 2, 2, 0, 0, 1, 65535 - index, 0, 0))
        + (_chunk(b"IDAT", zlib.compress(bytes(14))) if not index else _chunk(b"fdAT", struct.pack(">I", index)))
        for index in range(2000)
    ]
    yield "delays.png", head(2, 2) + _chunk(b"acTL", struct.pack(">II", len(frames), 0)) + b"".join(frames) + end


def _gif() -> Iterator[tuple[str, bytes]]:
    def frames(width: int, height: int) -> bytes:
        return (b"\x2c" + struct.pack("<HHHHB", 0, 0, width, height, 0) + b"\2\2\x44\1\0") * 3

    def head(width: int, height: int) -> bytes:
        return b"GIF89a" + struct.pack("<HHBBB", width, height, 0x80, 0, 0) + bytes(6)

    yield "side.gif", head(SIDE, SIDE) + frames(1, 1) + b";"
    yield "frame.gif", head(2, 2) + frames(SIDE, SIDE) + b";"
    yield "blocks.gif", head(2, 2) + b"\x21\xfe" + b"\xff" * 4096


def _tiff() -> Iterator[tuple[str, bytes]]:
    def tiff(side: int, *more: tuple[int, int, int, int], after: int = 0) -> bytes:
        tags = [(256, 4, 1, side), (257, 4, 1, side), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1)]
        tags += [(273, 4, 1, 8), (277, 3, 1, 1), (278, 4, 1, side), (279, 4, 1, 16), *more]
        directory = b"".join(struct.pack("<HHII", *tag) for tag in sorted(tags))
        directory = struct.pack("<H", len(tags)) + directory
        return b"II*\0" + struct.pack("<I", 24) + bytes(16) + directory + struct.pack("<I", after)

    yield "side.tiff", tiff(SIDE)
    yield "words.tiff", tiff(4, (700, 1, 0x7FFFFFFF, 8))
    yield "profile.tiff", tiff(4, (34675, 7, 0xFFFFFFF0, 8))
    yield "circle.tiff", tiff(4, after=24)
    pages = (struct.pack("<HHHIII", 1, 256, 4, 1, 4, 8 + 18 * (page + 1)) for page in range(20000))
    yield "pages.tiff", b"II*\0" + struct.pack("<I", 8) + b"".join(pages) + bytes(6)


def _jpeg() -> Iterator[tuple[str, bytes]]:
    small = saved("JPEG")

    def with_segment(mark: bytes, body: bytes, times: int = 1) -> bytes:
        return small[:2] + (mark + struct.pack(">H", len(body) + 2) + body) * times + small[2:]

    def exif(*tags: tuple[int, int, int, int]) -> bytes:
        directory = b"".join(struct.pack("<HHII", *tag) for tag in tags)
        return b"Exif\0\0II*\0\x08\0\0\0" + struct.pack("<H", len(tags)) + directory + struct.pack("<I", 8)

    packet = b"http://ns.adobe.com/xap/1.0/\0"
    levels = "".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(8))
    laughs = f'<!DOCTYPE x [<!ENTITY a "{"ha" * 500}">{levels}]><x>&i;</x>'
    outside = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><x>&a;</x>'
    yield (
        "side.jpg",
        (
            b"\xff\xd8\xff\xc0" + struct.pack(">HBHHB", 17, 8, SIDE, SIDE, 3) + b"\1\x11\0\2\x11\0\3\x11\0"
            b"\xff\xda\0\x0c\3\1\0\2\0\3\0\0\x3f\0" + bytes(9) + b"\xff\xd9"
        ),
    )
    yield "circle.jpg", with_segment(b"\xff\xe1", exif((0x8769, 4, 1, 8)))
    yield "claims.jpg", with_segment(b"\xff\xe1", exif((0x010F, 2, 0xFFFFFFFF, 8), (0x0112, 3, 0x7FFFFFFF, 0)))
    yield "profile.jpg", with_segment(b"\xff\xe2", b"ICC_PROFILE\0\1\xff" + bytes(60000), 100)
    yield "laughs.jpg", with_segment(b"\xff\xe1", packet + laughs.encode())
    yield "outside.jpg", with_segment(b"\xff\xe1", packet + outside.encode())


def _in_boxes() -> Iterator[tuple[str, bytes]]:
    pillow_heif.register_heif_opener()
    for suffix, name in (("heic", "HEIF"), ("avif", "AVIF")):
        data = saved(name)
        size = data.index(b"ispe") + 8
        for how, side in (("side", SIDE), ("most", 0xFFFFFFFF)):
            yield f"{how}.{suffix}", data[:size] + struct.pack(">II", side, side) + data[size + 8 :]
        place = data.index(b"iloc") + 8
        yield f"place.{suffix}", data[:place] + b"\x44\0\xff\xff" + b"\xff" * 16 + data[place + 20 :]


def saved(name: str) -> bytes:
    """A small picture."""
    stream = io.BytesIO()
    Image.new("RGB", (64, 64), (90, 120, 150)).save(stream, name)
    return stream.getvalue()


def _bmp(width: int, height: int) -> bytes:
    sizes = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, 0, 0, 0, 0, 0)
    return b"BM" + struct.pack("<IHHI", 54, 0, 0, 54) + sizes


def _riff(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("<I", len(body)) + body


def videos(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Names and contents."""
    for side in (SIDE, 1 << 30):
        words = f"YUV4MPEG2 W{side} H{side} F25:1 Ip A1:1 C420jpeg\nFRAME\n"
        yield f"{side}.y4m", words.encode() + bytes(64)
    for rate, name in (("2147483647:1", "fast"), ("1:2147483647", "slow")):
        words = f"YUV4MPEG2 W16 H16 F{rate} Ip A2147483647:1 C420jpeg\n"
        yield f"{name}.y4m", words.encode() + (b"FRAME\n" + bytes(384)) * 3
    make_clip(folder / "whole.mp4", stamps=(0, 512, 1024))
    film = (folder / "whole.mp4").read_bytes()
    for name, kind, place, claim in (
        ("sizes", b"stsz", 8, struct.pack(">II", 16, 0x7FFFFFFF)),
        ("size", b"stsz", 8, struct.pack(">I", 0x7FFFFFFF)),
        ("times", b"stts", 12, struct.pack(">II", 0x7FFFFFFF, 1)),
        ("delta", b"stts", 16, b"\x7f\xff\xff\xff"),
        ("entries", b"stts", 8, b"\xff\xff\xff\xff"),
        ("clock", b"mdhd", 16, b"\0\0\0\0"),
        ("length", b"mdhd", 16, struct.pack(">II", 1, 0xFFFFFFFF)),
        ("side", b"avc1", 28, b"\xff\xff\xff\xff"),
        ("outer", b"moov", -4, b"\xff\xff\xff\xff"),
    ):
        at = film.index(kind) + place
        yield f"{name}.mp4", film[:at] + claim + film[at + len(claim) :]
    boxes = b"".join(struct.pack(">I4s", 8 * (4000 - depth), b"moov") for depth in range(4000))
    yield "nested.mp4", film[: film.index(b"moov") - 4] + boxes
    make_clip(folder / "whole.mkv", stamps=(0, 512, 1024))
    yield from _matroska((folder / "whole.mkv").read_bytes())


def _matroska(film: bytes) -> Iterator[tuple[str, bytes]]:
    """Lengths of EBML that nothing has; RFC 8794, section 6."""
    for name, mark in (("all", b"\x18\x53\x80\x67"), ("tracks", b"\x16\x54\xae\x6b"), ("cluster", b"\x1f\x43\xb6\x75")):
        at = film.index(mark) + 4
        yield f"{name}.mkv", film[:at] + b"\x01\x7f\xff\xff\xff\xff\xff\xfe" + film[at + 8 :]
    nested = b""
    for _ in range(2000):
        nested = b"\xae\x01" + len(nested).to_bytes(7, "big") + nested
    at = film.index(b"\x16\x54\xae\x6b") + 4
    yield "nested.mkv", film[:at] + b"\x01" + len(nested).to_bytes(7, "big") + nested
