"""Looking through files of anybody's, which may be broken or made to do harm."""

from __future__ import annotations

import stat
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from facefusion.core.errors import InputError
from facefusion.provenance.xmp.packet import LARGEST

MOST_PARTS = 500_000
"""Parts of a file that are looked at one after the other; a file of more has no mark that is found."""

DAMAGE = (EOFError, IndexError, ValueError, struct.error, zlib.error)
"""What reading a broken file raises."""


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file to look through.

    Raises:
        InputError: it cannot be read, or it is no file: a pipe might be waited for without end.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise InputError(f"{path} cannot be looked at: it is no regular file", "Name a file.")
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}", "Check the path.") from error


class Scan:
    """A file that is read in places. Nothing is read that is not there, and no more at once than a packet may hold."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        """Look through a file of so many bytes."""
        self.file = file
        self.size = size
        self._parts = 0

    def at(self, place: int, length: int) -> bytes:
        """Bytes of the file.

        Raises:
            EOFError: the file breaks off before, or more is asked for than a packet may hold.
        """
        if not 0 <= length <= LARGEST or place < 0 or place + length > self.size:
            raise EOFError
        self.file.seek(place)
        data = self.file.read(length)
        if len(data) < length:
            raise EOFError
        return data

    def count(self, parts: int = 1) -> None:
        """Say that some more parts are looked at.

        Raises:
            EOFError: there are too many.
        """
        self._parts += parts
        if self._parts > MOST_PARTS:
            raise EOFError


def inflated(data: bytes) -> bytes:
    """What zlib compressed.

    Raises:
        zlib.error: it is damaged.
        ValueError: it is longer than a packet may be.
    """
    reader = zlib.decompressobj()
    body = reader.decompress(data, LARGEST)
    if reader.unconsumed_tail:
        raise ValueError
    return body
