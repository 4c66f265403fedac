"""Sets up logging once per process."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from facefusion.core.storage import refusal
from facefusion.observability.log_stream import LogStream, descriptor_of
from facefusion.observability.records import LEVELS, PACKAGE, JsonFormatter, StampedFormatter
from facefusion.observability.terminal import Terminal


class _TerminalHandler(logging.Handler):
    def __init__(self, terminal: Terminal) -> None:
        super().__init__()
        self._terminal = terminal

    def emit(self, record: logging.LogRecord) -> None:
        self._terminal.record(record)


def set_up_logging(level: str, terminal: Terminal, *, json: bool = False, path: Path | None = None) -> None:
    """Have the terminal say what the program logs; warnings of other libraries and of Python too, their chatter not.

    A second call replaces what the first one set up.

    Args:
        level: a key of :data:`~facefusion.observability.records.LEVELS`.
        terminal: says it.
        json: whether in JSON, on the stream and in the file.
        path: of a log file that gets all that is said.

    Raises:
        UsageError: something else than a log is there.
        OutputError: the log file cannot be written.
        ResourceError: the disk is full.
    """
    root = logging.getLogger()
    for handler in [handler for handler in root.handlers if isinstance(handler, _TerminalHandler)]:
        root.removeHandler(handler)
    log = None if path is None else _log_to(path, json, lambda loss: terminal.line(loss, "warn"))
    terminal.set_up(level, json=json, log=log)
    root.addHandler(_TerminalHandler(terminal))
    logging.captureWarnings(capture=True)
    logging.getLogger(PACKAGE).setLevel(LEVELS[level])


def _log_to(path: Path, json: bool, complain: Callable[[str], None]) -> logging.Handler:
    from facefusion.observability.log_file import REMEDY, LogFile  # noqa: PLC0415 - only who asks for a file needs it

    try:
        descriptor = descriptor_of(path)
    except OSError as error:
        raise refusal(error, path, REMEDY) from error
    log = LogFile(path, complain) if descriptor is None else LogStream(descriptor, str(path), complain)
    log.setFormatter(JsonFormatter() if json else StampedFormatter())
    return log
