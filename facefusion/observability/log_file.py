"""A log file that grows no further than a limit, and that several processes may write."""

from __future__ import annotations

import contextlib
import io
import logging
from collections.abc import Callable
from logging.handlers import RotatingFileHandler
from pathlib import Path

from filelock import FileLock, Timeout

from facefusion.core.errors import UsageError
from facefusion.core.own_file import OwnFile
from facefusion.core.storage import refusal
from facefusion.observability.records import BEGINNING

LARGEST = 10 * 2**20
"""Bytes after which a new file is begun."""
KEPT = 5
"""Full files kept beside it, as ``FILE.1`` (the latest) to ``FILE.5``."""
PATIENCE = 1.0
"""Seconds to wait for another process that is writing; one that was stopped while it did must not stop the others."""
POLL = 0.002
"""Seconds between two looks whether it still is; writing takes less."""

REMEDY = "Name another file with --log-path."
LOG = OwnFile("a log of this program", BEGINNING, REMEDY)


class LogFile(RotatingFileHandler):
    """Appends each record as whole lines.

    Several processes may write one file: whoever writes holds a lock (``FILE.lock``, empty) that the system drops with
    its process, and opens the file anew, since another one may have renamed it. What is no log is left alone, even if
    it took the log's place. A disk that takes no more never stops the work; it is said once.
    """

    def __init__(
        self, path: Path, complain: Callable[[str], None], *, largest: int = LARGEST, kept: int = KEPT
    ) -> None:
        """Open the file for a moment, to see that it can be written.

        Args:
            path: of the file; made where it is not there, gone on with where it is.
            complain: told in one sentence when records are lost.
            largest: bytes after which a new file is begun.
            kept: how many full files stay.

        Raises:
            UsageError: something else than a log is there, or has the name of an old one.
            OutputError: the file cannot be written.
            ResourceError: the disk is full.
        """
        self._complain = complain
        self._lost = False
        self._between = FileLock(path.with_name(f"{path.name}.lock"), timeout=PATIENCE, poll_interval=POLL)
        super().__init__(
            path, maxBytes=largest, backupCount=kept, encoding="utf-8", delay=True, errors="surrogateescape"
        )
        try:
            self._check_old()
            with LOG.open_to_add(path), self._between:
                pass
        except Timeout:
            pass
        except OSError as error:
            raise refusal(error, path, REMEDY) from error

    def emit(self, record: logging.LogRecord) -> None:
        """Append one record, in a new file if this one is full."""
        try:
            self._append(record)
        except (OSError, UsageError):
            self.handleError(record)
        finally:
            self._release()

    def doRollover(self) -> None:  # noqa: N802 - the standard library's name
        """Begin a new file, and let the oldest one go.

        Raises:
            UsageError: something else has the name of an old log.
            OSError: a file cannot be renamed.
        """
        self._check_old()
        super().doRollover()

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the standard library's name
        """Say once that records are lost."""
        if not self._lost:
            self._lost = True
            self._complain(f"the log {self.baseFilename} takes no more; what follows is not in it.")

    def _append(self, record: logging.LogRecord) -> None:
        try:
            with self._between:
                super().emit(record)
        except Timeout:  # appended as it is, without turning to a new file
            logging.FileHandler.emit(self, record)

    def _open(self) -> io.TextIOWrapper:
        return io.TextIOWrapper(LOG.open_to_add(Path(self.baseFilename)), self.encoding, self.errors)

    def _check_old(self) -> None:
        for number in range(1, self.backupCount + 1):
            LOG.check(Path(f"{self.baseFilename}.{number}"))

    def _release(self) -> None:
        stream, self.stream = self.stream, None
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
