"""The one place where an error becomes a line for the user and an exit code."""

from __future__ import annotations

import logging
import traceback
from pathlib import Path

from facefusion.core.errors import FaceFusionError, SetupError, Stopped
from facefusion.core.stop import StopToken
from facefusion.observability.terminal import Terminal

FAILED = 1
logger = logging.getLogger(__name__)


def conclude(error: BaseException, terminal: Terminal, stop: StopToken) -> int:
    """Say in one line what happened and return the exit code.

    What fails after a stop was asked for fails since it was, and counts as stopped.
    """
    terminal.close_bar()
    error = _explained(error)
    if logger.isEnabledFor(logging.DEBUG):
        terminal.line("".join(traceback.format_exception(error)).rstrip())
    if isinstance(error, Stopped | KeyboardInterrupt) or stop.requested:
        reason = str(error) if isinstance(error, Stopped) else stop.reason
        terminal.line(f"Stopped by {reason or 'Ctrl-C'}; no output was written.")
        return Stopped.exit_code
    if isinstance(error, FaceFusionError):
        terminal.line(f"error: {error}")
        return error.exit_code
    if isinstance(error, MemoryError):
        terminal.line("error: memory does not suffice. Set --system-memory-limit, or process a smaller file.")
        return FAILED
    terminal.line(f"error: {_unexpected(error)}")
    return FAILED


def _explained(error: BaseException) -> BaseException:
    """For a failed import the error that names the missing package or library, where that is the cause."""
    if isinstance(error, ImportError):
        from facefusion.cli.requirements_check import check_requirements  # noqa: PLC0415 - slow, and seldom needed

        try:
            check_requirements()
        except SetupError as cause:
            return cause
    return error


def _unexpected(error: BaseException) -> str:
    """A mistake of the program's own: what it was and where, in one line."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" in {Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""
    text = " ".join(str(error).split())
    what = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return f"unexpected {what}{where}. This is a defect; --log-level debug shows the traceback to report."
