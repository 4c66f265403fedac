"""Sets up logging once per process."""

from __future__ import annotations

import logging

from facefusion.observability.terminal import Terminal

LEVELS = {"error": logging.ERROR, "warn": logging.WARNING, "info": logging.INFO, "debug": logging.DEBUG}
"""The values of ``--log-level``."""

PACKAGE = "facefusion"


class _LineFormatter(logging.Formatter):
    """``[FACEFUSION.MODULE] text``, the module being the last part of the logger's name."""

    def format(self, record: logging.LogRecord) -> str:
        module = record.name.rpartition(".")[2].upper()
        text = super().format(record)
        return f"[FACEFUSION.{module}] {text}"


class _TerminalHandler(logging.Handler):
    def __init__(self, terminal: Terminal) -> None:
        super().__init__()
        self._terminal = terminal
        self.setFormatter(_LineFormatter("%(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        self._terminal.line(self.format(record))


def set_up_logging(level: str, terminal: Terminal) -> None:
    """Send what the program logs to the terminal; other libraries' warnings too, their chatter not.

    A second call replaces what the first one set up.

    Args:
        level: a key of :data:`LEVELS`.
        terminal: where lines go.
    """
    root = logging.getLogger()
    for handler in [handler for handler in root.handlers if isinstance(handler, _TerminalHandler)]:
        root.removeHandler(handler)
    root.addHandler(_TerminalHandler(terminal))
    logging.getLogger(PACKAGE).setLevel(LEVELS[level])
