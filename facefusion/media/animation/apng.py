"""Animated PNG files (W3C PNG, third edition), written frame by frame."""

from __future__ import annotations

import struct
from fractions import Fraction
from typing import BinaryIO

from facefusion.media.animation.parts import Part, Sheet, Timing
from facefusion.media.image.encode import png_metadata
from facefusion.media.image.png import SIGNATURE, chunk, chunks, pixels_of

KEEP, REPLACE = 0, 0
"""A frame stays when its time is over, and replaces what lies under it, alpha too."""


class PngFile:
    """Each frame is the rectangle that changed, without loss."""

    timing = Timing(None, Fraction(65535))
    clearing = False
    even = False
    mixed = False

    def __init__(self, file: BinaryIO, sheet: Sheet) -> None:
        """Begin the file; its number of frames is filled in at the end."""
        self._file = file
        self._sheet = sheet
        self._count = 0
        self._sequence = 0
        self._control = 0

    def add(self, part: Part) -> None:
        """Append a frame."""
        (_, header), *rest = chunks(pixels_of(part.codes))
        if self._count == 0:
            self._begin(header, part)
        left, top, right, bottom = part.region
        delay = part.delay
        control = (right - left, bottom - top, left, top, delay.numerator, delay.denominator, KEEP, REPLACE)
        self._numbered(b"fcTL", struct.pack(">IIIIHHBB", *control))
        for kind, body in rest:
            if kind == b"IDAT" and self._count == 0:
                self._file.write(chunk(kind, body))
            elif kind == b"IDAT":
                self._numbered(b"fdAT", body)
        self._count += 1

    def finish(self) -> None:
        """End the file."""
        self._file.write(chunk(b"IEND", b""))
        self._file.seek(self._control)
        self._file.write(self._animation_control())

    def _begin(self, header: bytes, part: Part) -> None:
        self._file.write(SIGNATURE + chunk(b"IHDR", header))
        self._control = self._file.tell()
        self._file.write(self._animation_control())
        for kind, body in png_metadata(part.codes, self._sheet.details):
            self._file.write(chunk(kind, body))

    def _animation_control(self) -> bytes:
        return chunk(b"acTL", struct.pack(">II", self._count, self._sheet.loops))

    def _numbered(self, kind: bytes, body: bytes) -> None:
        number = struct.pack(">I", self._sequence)
        self._sequence += 1
        self._file.write(chunk(kind, number + body))
