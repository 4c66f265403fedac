"""How texts that are not ours are repeated to people: names of files, keys, jobs, and whatever else was typed."""

from __future__ import annotations

import unicodedata

SHOWN = 200
"""Characters of a value that a message repeats."""

_TURNS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that turn the direction of writing: with them a name looks like another."""
_CONTROLS = frozenset({"Cc", "Zl", "Zp", "Cs"})
"""Categories of Unicode: controls, separators of lines and of paragraphs, halves of pairs, which are no characters."""
_BYTES = range(0xDC80, 0xDD00)
"""Halves by which Python writes bytes of a file's name that are no text; they come out as those bytes."""


def shown(text: str) -> str:
    """A text as a message repeats it: cut where it is long."""
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}... ({len(text)} characters)"


def printable(text: str) -> str:
    r"""A text on one line that does nothing to a terminal: controls are written as in Python, such as ``\n``, ``\x1b``.

    Other characters stay, those too that Python's ``repr`` writes as numbers: wide spaces, the joiners of emoji.
    """
    if text.isprintable():
        return text
    return "".join(_written(character) for character in text)


def _written(character: str) -> str:
    if ord(character) in _BYTES:
        return character
    if unicodedata.category(character) in _CONTROLS or character in _TURNS:
        return character.encode("unicode_escape").decode("ascii")
    return character


def counted(number: int, noun: str) -> str:
    """A number with what it counts: ``1 frame``, ``3 frames``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
