"""The log of what was done with somebody's files: one line of JSON each, added to the end and never changed.

It names files by their SHA-256, never by name. The file is opened anew for each line, so that an operator may move it
away at any time (logrotate without ``copytruncate``); lines are written in one call, which a file opened for adding
keeps whole among several processes.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from facefusion.core.wording import printable, shown
from facefusion.service.errors import ServiceUnavailableError
from facefusion.service.problems import kind_of_error

logger = logging.getLogger(__name__)

BEGUN, DONE = "begun", "done"
"""Outcomes of what is about to be done, and of what was."""

LEAST_ROOM = 1 << 16
"""Bytes on the disk without which nothing more is begun."""


@dataclass(slots=True)
class Entry:
    """What is written of one action. Whoever does it fills in what it turns out to be about."""

    subject: str
    address: str
    """Of the machine that asks; empty where that is not known."""
    action: str
    job: str = ""
    asset: str = ""
    hashes: list[str] = field(default_factory=list)
    """SHA-256 of the files that it is about."""
    is_announced: bool = False
    """Whether there is a line that it was begun."""


class AuditLog:
    """Adds lines to a file.

    Args:
        path: of the file; its folder is there.
        clock: seconds since 1970.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()

    @contextmanager
    def recording(self, subject: str, address: str, action: str) -> Iterator[Entry]:
        """Write a line when what is done within comes to its end, well or not.

        Raises:
            ServiceUnavailableError: it cannot be written, and there was no other before: see :meth:`announce`.
        """
        entry = Entry(subject, address, action)
        try:
            yield entry
        except Exception as error:
            self.conclude(entry, kind_of_error(error))
            raise
        self.conclude(entry, DONE)

    def announce(self, entry: Entry) -> None:
        """Write down what is about to be done, before it can no longer be taken back.

        Raises:
            ServiceUnavailableError: it cannot be written, and must not be done.
        """
        self.write(entry, BEGUN)
        entry.is_announced = True

    def conclude(self, entry: Entry, outcome: str) -> None:
        """Write down how something ended. What was announced is answered as it ended, whether that is written or not.

        Raises:
            ServiceUnavailableError: it cannot be written, and was not announced.
        """
        try:
            self.write(entry, outcome)
        except ServiceUnavailableError as error:
            if not entry.is_announced:
                raise
            logger.error("how something ended is missing in the audit log: %s %s: %s", entry.action, outcome, error)

    def write(self, entry: Entry, outcome: str) -> None:
        """Add a line.

        Args:
            entry: what was done.
            outcome: ``done``, or the kind of the error that it ended with.

        Raises:
            ServiceUnavailableError: it cannot be written.
        """
        moment = datetime.fromtimestamp(self._clock(), UTC)
        line = {
            "time": moment.isoformat(timespec="milliseconds"),
            "subject": printable(shown(entry.subject)),
            "address": printable(shown(entry.address)),
            "action": entry.action,
            "outcome": outcome,
            **_present("job", entry.job),
            **_present("asset", entry.asset),
            **_present("sha256", entry.hashes),
        }
        self._add(f"{json.dumps(line)}\n".encode("ascii"))

    def check(self) -> None:
        """Make sure that lines can be added.

        Raises:
            ServiceUnavailableError: they cannot.
        """
        self._add(b"")
        try:
            free = shutil.disk_usage(self._path.parent).free
        except OSError as error:
            raise _unwritten() from error
        if free < LEAST_ROOM:
            raise _unwritten()

    def _add(self, data: bytes) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        try:
            with self._lock:
                descriptor = os.open(self._path, flags, 0o600)
                try:
                    written = os.write(descriptor, data)
                finally:
                    os.close(descriptor)
        except OSError as error:
            raise _unwritten() from error
        if written < len(data):
            raise _unwritten()


def _present(name: str, value: str | Sequence[str]) -> dict[str, str | Sequence[str]]:
    return {name: value} if value else {}


def _unwritten() -> ServiceUnavailableError:
    return ServiceUnavailableError(
        "what is done cannot be recorded", "Try again later; the operator checks the disk of the audit log."
    )
