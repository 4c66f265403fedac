"""A log file that grows no further than a limit, and that several processes may write."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from logging.handlers import RotatingFileHandler
from pathlib import Path

from filelock import FileLock, Timeout

from facefusion.core.storage import refusal

LARGEST = 10 * 2**20
"""Bytes after which a new file is begun."""
KEPT = 5
"""Full files kept beside it, as ``FILE.1`` (the latest) to ``FILE.5``."""
PATIENCE = 1.0
"""Seconds to wait for another process that is writing; one that was stopped while it did must not stop the others."""
POLL = 0.002
"""Seconds between two looks whether it still is; writing takes less."""

REMEDY = "Name another file with --log-path."


class LogFile(RotatingFileHandler):
    """Appends each record as whole lines.

    Several processes may write one file: whoever writes holds a lock (``FILE.lock``, empty) that the system drops with
    its process, and opens the file anew, since another one may have renamed it. A disk that takes no more never stops
    the work; it is said once.
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
            OutputError: the file cannot be written.
            ResourceError: the disk is full.
        """
        self._complain = complain
        self._lost = False
        self._between = FileLock(path.with_name(f"{path.name}.lock"), timeout=PATIENCE, poll_interval=POLL)
        try:
            with path.open("ab"), self._between:
                pass
        except Timeout:
            pass
        except OSError as error:
            raise refusal(error, path, REMEDY) from error
        super().__init__(
            path, maxBytes=largest, backupCount=kept, encoding="utf-8", delay=True, errors="surrogateescape"
        )

    def emit(self, record: logging.LogRecord) -> None:
        """Append one record, in a new file if this one is full."""
        try:
            with self._between:
                super().emit(record)
        except Timeout:  # appended as it is, without turning to a new file
            logging.FileHandler.emit(self, record)
        except OSError:
            self.handleError(record)
        finally:
            self._release()

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the standard library's name
        """Say once that records are lost."""
        if not self._lost:
            self._lost = True
            self._complain(f"the log {self.baseFilename} takes no more; what follows is not in it.")

    def _release(self) -> None:
        stream, self.stream = self.stream, None
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
