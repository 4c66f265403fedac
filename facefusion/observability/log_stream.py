"""A log that goes to a device, such as ``/dev/null``, or to a stream that the process was started with."""

from __future__ import annotations

import logging
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

OWN_STREAMS = (2, 1)
"""Descriptors of the process's own that a name like ``/dev/stderr`` may mean."""


class LogStream(logging.Handler):
    """Writes each record at once, without a lock and however much it gets to be.

    What takes no more never stops the work; it is said once.
    """

    def __init__(self, descriptor: int, name: str, complain: Callable[[str], None]) -> None:
        """Take over an open descriptor.

        Args:
            descriptor: written to; stays open as long as the process lives.
            name: of the log, for messages.
            complain: told in one sentence when records are lost.
        """
        super().__init__()
        self._descriptor = descriptor
        self._name = name
        self._complain = complain
        self._lost = False

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        data = f"{self.format(record)}\n".encode(errors="surrogateescape")
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError:
            self.handleError(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the standard library's name
        """Say once that records are lost."""
        if not self._lost:
            self._lost = True
            self._complain(f"the log {self._name} takes no more; what follows is not in it.")


def descriptor_of(path: Path) -> int | None:
    """An open descriptor of what a path names, where that is a device or a stream of the process; else none.

    Raises:
        OSError: the system does not let us look at it, or write to it.
    """
    try:
        about = path.stat()
    except FileNotFoundError:
        return None
    own = _own_stream(about)
    if own is not None:
        # Opened by its name, a stream may not be had at all (a socket), or with a place of its own in the file.
        return os.dup(own)
    if stat.S_ISCHR(about.st_mode):
        return os.open(path, os.O_WRONLY | getattr(os, "O_NOCTTY", 0))
    return None


def _own_stream(about: os.stat_result) -> int | None:
    if sys.platform == "win32":  # where streams cannot be told apart like that
        return None
    return next((number for number in OWN_STREAMS if os.path.samestat(os.fstat(number), about)), None)
