"""What the blocks of an animated image say: its frames' delays, and how often it plays.

They are read from the file itself, since Pillow hands out delays in floating milliseconds and only while decoding.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

from facefusion.core.errors import MediaError
from facefusion.core.values import Size
from facefusion.media.image.exif import orientation_of
from facefusion.media.image.opening import check_bytes, opened
from facefusion.media.image.png import SIGNATURE, chunks
from facefusion.media.orientation import Orientation

FOREVER = 0
UPRIGHT = Orientation()
SHORTEST = Fraction(1, 100)
"""Seconds; a delay up to this is none that players keep."""
INSTEAD = Fraction(1, 10)
"""Seconds for which browsers show a frame with such a delay."""

GIF_TICK = Fraction(1, 100)
WEBP_TICK = Fraction(1, 1000)
TRAILER, IMAGE, EXTENSION = 0x3B, 0x2C, 0x21
GRAPHIC_CONTROL, APPLICATION = 0xF9, 0xFF
LOOPING = (b"NETSCAPE2.0", b"ANIMEXTS1.0")
TABLE = 0x80
"""Flag of a colour table."""
CLEARS, REPLACES = 0x01, 0x02
"""WebP: after a frame its rectangle is emptied; a frame replaces what lies under it instead of blending."""
LOSSLESS_ALPHA = 0x10
"""In the fifth byte of lossless WebP data: its alpha is used."""
TRANSPARENT_COLOUR_TYPES = (4, 6)
"""PNG's grey and RGB with alpha."""


@dataclass(frozen=True, slots=True)
class AnimationFacts:
    """An animated image."""

    format: str
    """As Pillow calls it: GIF, PNG or WEBP."""
    size: Size
    """As shown."""
    delays: tuple[Fraction, ...]
    """Of each frame in seconds, as the file says."""
    loops: int
    """How often it plays; 0 for ever."""
    alpha: bool
    """The file can show what lies behind it."""
    still_first: bool = False
    """A PNG whose first picture is no frame, but for viewers that do not move."""
    whole: bool = True
    """The file does not break off."""
    orientation: Orientation = UPRIGHT
    """From stored to shown."""
    durations: tuple[Fraction, ...] = field(init=False)
    """Of each frame in seconds, as players show it: browsers take a delay up to 10 ms for 100 ms."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "durations", tuple(INSTEAD if delay <= SHORTEST else delay for delay in self.delays))

    @property
    def frames(self) -> int:
        """How many there are."""
        return len(self.delays)

    @property
    def duration(self) -> Fraction:
        """Of one play, in seconds."""
        return sum(self.durations, Fraction(0))


def animation_facts(path: Path) -> AnimationFacts | None:
    """Read the blocks of a file; none where it is no animation of two frames or more.

    Raises:
        MediaError: it is damaged from the beginning, or its frames are too large.
    """
    with path.open("rb") as file:
        head = file.read(16)
        read = next((read for mark, read in FORMATS if head.startswith(mark)), None)
        if read is None or (read is _webp and head[8:16] != b"WEBPVP8X"):
            return None
        check_bytes(path)
        data = head + file.read()
    try:
        facts = read(data)
    except (struct.error, IndexError) as error:
        raise MediaError(f"{path} is damaged: its header breaks off", "Get the file again.") from error
    if facts is None or facts.frames < 2:
        return None
    with opened(path) as image:
        orientation = orientation_of(image)
    return replace(facts, size=orientation.shown_size(facts.size), orientation=orientation)


def _gif(data: bytes) -> AnimationFacts | None:
    width, height, flags = struct.unpack_from("<HHB", data, 6)
    position = 13 + table_size(flags)
    delays: list[Fraction] = []
    delay, loops, disposal, transparent, alpha = 0, 1, 0, False, False
    while position < len(data) and data[position] != TRAILER:
        kind = data[position]
        if kind == EXTENSION and position + 8 <= len(data):
            label = data[position + 1]
            if label == GRAPHIC_CONTROL:
                control, delay = struct.unpack_from("<BH", data, position + 3)
                disposal, transparent = control >> 2 & 7, bool(control & 1)
            elif label == APPLICATION and data[position + 3 : position + 14] in LOOPING and data[position + 14] >= 3:
                (repeats,) = struct.unpack_from("<H", data, position + 16)
                loops = repeats + 1 if repeats else FOREVER
            position = after_blocks(data, position + 2)
        elif kind == IMAGE and position + 10 <= len(data):
            left, top, across, down, flags = struct.unpack_from("<HHHHB", data, position + 1)
            covers = (left, top, across, down) == (0, 0, width, height)
            alpha |= disposal == 2 or (not delays and (transparent or not covers))
            position = after_blocks(data, position + 10 + table_size(flags) + 1)
            delays.append(delay * GIF_TICK)
            delay, disposal, transparent = 0, 0, False
        else:
            break
    whole = position < len(data) and data[position] == TRAILER
    return AnimationFacts("GIF", Size(width, height), tuple(delays), loops, alpha, whole=whole)


def table_size(flags: int) -> int:
    """Bytes of a GIF's colour table, by the flags that announce it."""
    return 3 << ((flags & 7) + 1) if flags & TABLE else 0


def after_blocks(data: bytes, position: int) -> int:
    """Where a row of sub-blocks ends; behind the data where it breaks off."""
    while position < len(data) and data[position]:
        position += 1 + data[position]
    return position + 1


def _webp(data: bytes) -> AnimationFacts | None:
    delays: list[Fraction] = []
    alpha = False
    size = Size(1 + _three_bytes(data, 24), 1 + _three_bytes(data, 27))
    loops: int | None = None
    position = 12
    while position + 8 <= len(data):
        kind, length = struct.unpack_from("<4sI", data, position)
        if kind == b"ANIM":
            (loops,) = struct.unpack_from("<H", data, position + 12)
        elif kind == b"ANMF" and position + 8 + length <= len(data):
            alpha |= _webp_frame_shows_ground(data, position + 8, size, first=not delays)
            delays.append(_three_bytes(data, position + 20) * WEBP_TICK)
        position += 8 + length + length % 2
    if loops is None:
        return None
    return AnimationFacts("WEBP", size, tuple(delays), loops, alpha, whole=position <= len(data) + 1)


def _webp_frame_shows_ground(data: bytes, start: int, size: Size, *, first: bool) -> bool:
    """Whether a frame can leave a pixel transparent; files say they have alpha where frames only blend by it."""
    corner = (_three_bytes(data, start), _three_bytes(data, start + 3))
    sides = (_three_bytes(data, start + 6) + 1, _three_bytes(data, start + 9) + 1)
    flags, kind = data[start + 15], data[start + 16 : start + 20]
    if flags & CLEARS or (first and (corner, sides) != ((0, 0), size)):
        return True
    has_alpha = kind == b"ALPH" or (kind == b"VP8L" and bool(data[start + 28] & LOSSLESS_ALPHA))
    return has_alpha and (first or bool(flags & REPLACES))


def _three_bytes(data: bytes, position: int) -> int:
    return int.from_bytes(data[position : position + 3], "little")


def _png(data: bytes) -> AnimationFacts | None:
    delays: list[Fraction] = []
    size, loops, alpha, still_first, kind = Size(0, 0), None, False, False, b""
    for kind, body in chunks(data):
        if kind == b"IHDR":
            width, height, _, colour = struct.unpack_from(">IIBB", body)
            size, alpha = Size(width, height), colour in TRANSPARENT_COLOUR_TYPES
        elif kind == b"tRNS":
            alpha = True
        elif kind == b"acTL":
            (loops,) = struct.unpack_from(">I", body, 4)
        elif kind == b"fcTL":
            over, under = struct.unpack_from(">HH", body, 20)
            delays.append(Fraction(over, under or 100))
        elif kind == b"IDAT" and not delays:
            still_first = True
    if loops is None:
        return None
    return AnimationFacts("PNG", size, tuple(delays), loops, alpha, still_first, whole=kind == b"IEND")


FORMATS: tuple[tuple[bytes, Callable[[bytes], AnimationFacts | None]], ...] = (
    (b"GIF8", _gif),
    (SIGNATURE, _png),
    (b"RIFF", _webp),
)
"""How a file begins, and what reads it."""
