"""Ways in which files break, and in which somebody breaks them."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

KIND = re.compile(rb"[A-Za-z][A-Za-z0-9]{3}")
"""What a box of ISO's media files, a chunk of PNG or a piece of RIFF is called: its length stands before or behind."""

BOUNDS = (0, 1, 2, 7, 8, *((1 << bits) - more for bits in (7, 8, 15, 16, 31, 32, 63, 64) for more in (0, 1)))
"""Numbers at which those who reckon with them go wrong."""


def torn(data: bytes, chance: random.Random) -> bytes:
    """Cut off anywhere."""
    return data[: chance.randrange(len(data))]


def flipped(data: bytes, chance: random.Random) -> bytes:
    """A few bits turned over, half of the time near the begin, where files say what they are."""
    changed = bytearray(data)
    reach = len(data) if chance.random() < 0.5 else min(len(data), 512)
    for _ in range(chance.choice((1, 1, 2, 8, 32))):
        changed[chance.randrange(reach)] ^= 1 << chance.randrange(8)
    return bytes(changed)


def blanked(data: bytes, chance: random.Random) -> bytes:
    """A sector of zeros, as a broken copy leaves."""
    begin, length = _piece(data, chance)
    return data[:begin] + bytes(length) + data[begin + length :]


def overwritten(data: bytes, chance: random.Random) -> bytes:
    """A piece of something else."""
    begin, length = _piece(data, chance)
    return data[:begin] + chance.randbytes(length) + data[begin + length :]


def shortened(data: bytes, chance: random.Random) -> bytes:
    """A piece missing, with all behind it moved up."""
    begin, length = _piece(data, chance)
    return data[:begin] + data[begin + length :]


def repeated(data: bytes, chance: random.Random) -> bytes:
    """A piece that is there twice, or a thousand times."""
    begin, length = _piece(data, chance)
    return data[:begin] + data[begin : begin + length] * chance.choice((2, 2, 1000)) + data[begin + length :]


def overstated(data: bytes, chance: random.Random) -> bytes:
    """A number that is none, anywhere."""
    return _with_number(data, chance.randrange(len(data)), chance.choice((1, 2, 4, 8)), chance)


def belied(data: bytes, chance: random.Random) -> bytes:
    """A length that is none, of something that has a name; else a number anywhere."""
    names = [match.start() for match in KIND.finditer(data)]
    if not names:
        return overstated(data, chance)
    name = chance.choice(names)
    place = name + chance.choice((-4, 4))
    return _with_number(data, max(place, 0), 4, chance)


def renamed(data: bytes, chance: random.Random) -> bytes:
    """Something that goes by the name of another."""
    names = [match.start() for match in KIND.finditer(data)]
    if not names:
        return flipped(data, chance)
    one, other = chance.choice(names), chance.choice(names)
    return data[:one] + data[other : other + 4] + data[one + 4 :]


Way = Callable[[bytes, random.Random], bytes]
WAYS: tuple[Way, ...] = (
    torn, flipped, blanked, overwritten, shortened, repeated, overstated, belied, renamed,
)  # fmt: skip


def damaged(data: bytes, others: Sequence[bytes], chance: random.Random) -> tuple[str, bytes]:
    """A file broken in one way, a few ways, or with a piece of another file in it; how, and what is left."""
    if chance.random() < 0.1:
        other = chance.choice(others)
        begin, length = _piece(other, chance)
        place = chance.randrange(len(data))
        return "spliced", data[:place] + other[begin : begin + length * 64] + data[place:]
    told = []
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        way = chance.choice(WAYS)
        data = way(data, chance) or b"\0"
        told.append(way.__name__)
    return " ".join(told), data


def _with_number(data: bytes, place: int, width: int, chance: random.Random) -> bytes:
    number = chance.choice((*BOUNDS, len(data), len(data) - place)) & ((1 << 8 * width) - 1)
    return data[:place] + number.to_bytes(width, chance.choice(("big", "little"))) + data[place + width :]


def _piece(data: bytes, chance: random.Random) -> tuple[int, int]:
    begin = chance.randrange(len(data))
    return begin, min(chance.choice((1, 4, 16, 512)), len(data) - begin)
