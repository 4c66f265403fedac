"""The one place where an error becomes a line for the user, an exit code and a status."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from facefusion.core.errors import ContentRefusedError, FaceFusionError, SetupError, Stopped
from facefusion.core.stop import StopToken
from facefusion.observability.terminal import Terminal

FAILED = 1
"""Where something failed, or there was nothing to do."""


REFUSED = ContentRefusedError.exit_code
"""Where several were worked on, and nothing failed but what the content filter refused."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a run came to that did not end well."""

    status: str
    """``failed``, ``refused`` or ``stopped``."""
    exit_code: int
    message: str
    """For the user, in one line."""
    error: BaseException

    @property
    def is_refusal(self) -> bool:
        """Whether the content filter refused the target."""
        return isinstance(self.error, ContentRefusedError)


def verdict(error: BaseException, stop: StopToken) -> Verdict:
    """What an error means.

    What fails after a stop was asked for fails since it was, and counts as stopped.
    """
    error = _explained(error)
    if isinstance(error, Stopped | KeyboardInterrupt) or stop.requested:
        reason = str(error) if isinstance(error, Stopped) else stop.reason
        message = f"Stopped by {reason or 'Ctrl-C'}; nothing half-written is left."
        return Verdict("stopped", Stopped.exit_code, message, error)
    if isinstance(error, FaceFusionError):
        status = "refused" if isinstance(error, ContentRefusedError) else "failed"
        return Verdict(status, error.exit_code, str(error), error)
    if isinstance(error, MemoryError):
        message = "memory does not suffice. Set --system-memory-limit, or process a smaller file."
        return Verdict("failed", FAILED, message, error)
    return Verdict("failed", FAILED, _unexpected(error), error)


def conclude(error: BaseException, terminal: Terminal, stop: StopToken) -> int:
    """Say in one line what happened and return the exit code."""
    found = verdict(error, stop)
    announce(found, found.message, terminal)
    return found.exit_code


def announce(
    found: Verdict, message: str, terminal: Terminal, fields: Mapping[str, object] = MappingProxyType({})
) -> None:
    """Say what something came to.

    Args:
        found: what it came to.
        message: in one line.
        terminal: says it.
        fields: what else machines are told.
    """
    terminal.close_bar()
    about = {"event": found.status, "kind": type(found.error).__name__, "exit_code": found.exit_code}
    terminal.line(message, "error", marked=found.status != "stopped", failure=found.error, fields={**about, **fields})


def say_too_late(terminal: Terminal, what: str) -> int:
    """Say that a stop came when all was done, which is no success; the exit code."""
    fields = {"event": "stopped_too_late", "kind": Stopped.__name__, "exit_code": Stopped.exit_code}
    terminal.line(f"The stop came too late: {what}.", "error", marked=False, fields=fields)
    return Stopped.exit_code


def _explained(error: BaseException) -> BaseException:
    """For a failed import the error that names the missing package or library, or what hinders it, if that is why."""
    if isinstance(error, ImportError):
        from facefusion.doctor.requirements import check_requirements, room_error  # noqa: PLC0415 - slow, seldom needed

        if no_room := room_error(error):
            return no_room
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
