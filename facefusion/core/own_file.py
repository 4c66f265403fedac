"""Files that grow or are replaced from run to run, which no slip of a name may turn a user's own file into."""

from __future__ import annotations

import contextlib
import io
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from facefusion.core.errors import UsageError

HEAD = 256
"""Bytes of a file that are enough to know it by."""


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A kind of file that this program writes, and knows again by its first bytes. An empty file is of any kind."""

    noun: str
    """For people, with its article: ``a log of this program``."""
    beginning: re.Pattern[bytes]
    remedy: str
    """What the user can do where another file is there."""

    def check(self, path: Path) -> None:
        """Make sure that there is no file, or one of this kind. That a folder is there is for who writes to find out.

        Raises:
            UsageError: something else is there.
            OSError: it cannot be read.
        """
        with (
            contextlib.suppress(FileNotFoundError, IsADirectoryError),
            open(path, "rb", buffering=0, opener=_open_without_waiting) as file,
        ):
            self._check_open(file, path)

    def open_to_add(self, path: Path) -> io.BufferedRandom:
        """Open a file to add to its end; it is made where it is not there.

        Raises:
            UsageError: something else is there.
            OSError: it cannot be read and written.
        """
        file = open(path, "a+b", buffering=0, opener=_open_without_waiting)  # noqa: SIM115 - the caller closes it
        try:
            self._check_open(file, path)
            file.seek(0, os.SEEK_END)
            return io.BufferedRandom(file)
        except BaseException:
            file.close()
            raise

    def _check_open(self, file: io.FileIO, path: Path) -> None:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise UsageError(f"{path} is no regular file", self.remedy)
        file.seek(0)
        head = file.read(HEAD)
        if head and self.beginning.match(head) is None:
            raise UsageError(f"{path} is there already and is not {self.noun}", f"It stays as it is. {self.remedy}")


def _open_without_waiting(path: str, flags: int) -> int:
    """Opening a named pipe else waits until somebody is at its other end."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o666)
