"""Animated WebP files (RFC 9649), written frame by frame."""

from __future__ import annotations

import io
import struct
from typing import BinaryIO

from PIL import Image

from facefusion.media.animation.facts import WEBP_TICK
from facefusion.media.animation.parts import Part, Sheet, Timing
from facefusion.media.image.encode import LOSSLESS, metadata
from facefusion.vision.colour import Plane

ANIMATION, XMP, EXIF, ALPHA, PROFILE = 0x02, 0x04, 0x08, 0x10, 0x20
REPLACE = 0x02
"""A frame replaces what lies under it, alpha too, and stays."""
PICTURE_CHUNKS = (b"ALPH", b"VP8 ", b"VP8L")


class WebpFile:
    """Each frame is the rectangle that changed; at quality 100 without loss."""

    timing = Timing(WEBP_TICK, ((1 << 24) - 1) * WEBP_TICK)
    clearing = False
    even = True
    mixed = False

    def __init__(self, file: BinaryIO, sheet: Sheet) -> None:
        """Begin the file."""
        self._file = file
        self._sheet = sheet
        self._begun = False
        self._metadata: dict[str, bytes] = {}

    def add(self, part: Part) -> None:
        """Append a frame."""
        if not self._begun:
            self._begin(part.codes)
        left, top, right, bottom = part.region
        ticks = int(part.delay / WEBP_TICK)
        numbers = (left // 2, top // 2, right - left - 1, bottom - top - 1, ticks)
        head = b"".join(number.to_bytes(3, "little") for number in numbers) + bytes((REPLACE,))
        self._write(b"ANMF", head + self._picture(part.codes))

    def finish(self) -> None:
        """End the file."""
        for kind, name in ((b"EXIF", "exif"), (b"XMP ", "xmp")):
            if name in self._metadata:
                self._write(kind, self._metadata[name])
        size = self._file.tell()
        self._file.seek(4)
        self._file.write(struct.pack("<I", size - 8))

    def _begin(self, codes: Plane) -> None:
        self._begun = True
        self._metadata = metadata(codes, self._sheet.details)
        flags = ANIMATION | (ALPHA if self._sheet.alpha else 0)
        for name, flag in (("icc_profile", PROFILE), ("exif", EXIF), ("xmp", XMP)):
            flags |= flag if name in self._metadata else 0
        self._file.write(b"RIFF\0\0\0\0WEBP")
        sides = b"".join((side - 1).to_bytes(3, "little") for side in self._sheet.size)
        self._write(b"VP8X", struct.pack("<I", flags) + sides)
        if "icc_profile" in self._metadata:
            self._write(b"ICCP", self._metadata["icc_profile"])
        self._write(b"ANIM", struct.pack("<IH", 0, self._sheet.loops))

    def _picture(self, codes: Plane) -> bytes:
        """The chunks that hold the pixels, out of a still that Pillow writes of the frame."""
        buffer = io.BytesIO()
        quality = self._sheet.quality
        Image.fromarray(codes).save(buffer, "WEBP", quality=quality, lossless=quality == LOSSLESS, exact=True)
        data = buffer.getvalue()
        found, position = [], 12
        while position + 8 <= len(data):
            kind, length = struct.unpack_from("<4sI", data, position)
            stop = position + 8 + length + length % 2
            if kind in PICTURE_CHUNKS:
                found.append(data[position:stop])
            position = stop
        return b"".join(found)

    def _write(self, kind: bytes, body: bytes) -> None:
        self._file.write(struct.pack("<4sI", kind, len(body)) + body + b"\0" * (len(body) % 2))
