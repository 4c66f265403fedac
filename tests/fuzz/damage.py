"""Ways in which files break."""

from __future__ import annotations

import random
from collections.abc import Callable


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
    """A piece that is there twice."""
    begin, length = _piece(data, chance)
    return data[: begin + length] + data[begin:]


def _piece(data: bytes, chance: random.Random) -> tuple[int, int]:
    begin = chance.randrange(len(data))
    return begin, min(chance.choice((1, 4, 16, 512)), len(data) - begin)


WAYS: tuple[Callable[[bytes, random.Random], bytes], ...] = (torn, flipped, blanked, overwritten, shortened, repeated)
