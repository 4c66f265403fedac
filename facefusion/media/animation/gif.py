"""GIF files (GIF89a), written frame by frame."""

from __future__ import annotations

import io
import struct
from typing import BinaryIO

from PIL import Image

from facefusion.media.animation.facts import (
    EXTENSION,
    FOREVER,
    GIF_TICK,
    GRAPHIC_CONTROL,
    IMAGE,
    TRAILER,
    after_blocks,
    table_size,
)
from facefusion.media.animation.parts import Part, Sheet, Timing
from facefusion.media.image.gif_palette import to_palette

DEEP_COLOUR = 0x70
"""The colours were chosen from 8 bits per component; there is no table for all frames."""
OWN_TABLE = 0x87
"""A table of 256 colours of the frame's own."""
TABLE_BYTES = 768
KEEP, CLEAR = 1, 2
"""What becomes of a frame when its time is over."""


class GifFile:
    """Each frame gets colours of its own; what does not change is not drawn again, so that it cannot flicker."""

    timing = Timing(GIF_TICK, 65535 * GIF_TICK, least=2)
    clearing = True
    even = False

    def __init__(self, file: BinaryIO, sheet: Sheet) -> None:
        """Begin the file."""
        self._file = file
        self.mixed = False
        file.write(b"GIF89a" + struct.pack("<HHBBB", sheet.size.width, sheet.size.height, DEEP_COLOUR, 0, 0))
        if sheet.loops != 1:
            repeats = FOREVER if sheet.loops == FOREVER else sheet.loops - 1
            file.write(b"\x21\xff\x0bNETSCAPE2.0\x03\x01" + struct.pack("<H", repeats) + b"\0")

    def add(self, part: Part) -> None:
        """Append a frame."""
        image, transparent, exact = to_palette(part.codes, part.unchanged)
        self.mixed |= not exact
        ticks = int(part.delay / GIF_TICK)
        flags = (CLEAR if part.clear else KEEP) << 2 | (transparent is not None)
        left, top, right, bottom = part.region
        self._file.write(struct.pack("<BBBBHBB", EXTENSION, GRAPHIC_CONTROL, 4, flags, ticks, transparent or 0, 0))
        self._file.write(struct.pack("<BHHHHB", IMAGE, left, top, right - left, bottom - top, OWN_TABLE))
        self._file.write(bytes(image.getpalette() or ()).ljust(TABLE_BYTES, b"\0"))
        self._file.write(_compressed(image))

    def finish(self) -> None:
        """End the file."""
        self._file.write(bytes((TRAILER,)))


def _compressed(image: Image.Image) -> bytes:
    """The image data alone, out of a file that Pillow writes of the frame."""
    buffer = io.BytesIO()
    image.save(buffer, "GIF", optimize=False, interlace=0)
    data = buffer.getvalue()
    position = 13 + table_size(data[10])
    while data[position] == EXTENSION:
        position = after_blocks(data, position + 2)
    start = position + 10 + table_size(data[position + 9])
    return data[start : after_blocks(data, start + 1)]
