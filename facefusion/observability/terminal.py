"""The one writer of the error stream: log lines, notices and a progress bar that do not tear each other apart."""

from __future__ import annotations

import contextlib
import os
import threading
from typing import TYPE_CHECKING, Never, TextIO

if TYPE_CHECKING:
    from tqdm import tqdm


FALLBACK_SIZE = os.terminal_size((80, 24))
"""Where the terminal says it has none, as in a container; a bar would stay invisible."""


class Terminal:
    """Writes whole lines to a stream, above the progress bar if one is shown. Thread-safe.

    A stream that is closed, full or read by nobody never stops the work: what is written to it is lost.
    """

    def __init__(self, stream: TextIO | None) -> None:
        """Write to ``stream``; none where the process was started without one."""
        self._stream = stream
        self._lock = threading.RLock()
        self._bar: tqdm[Never] | None = None

    @property
    def is_interactive(self) -> bool:
        """Whether a person looks at it, so that a bar can be redrawn in place."""
        return self._stream is not None and self._stream.isatty()

    def line(self, text: str) -> None:
        """Write one line, or several."""
        if self._stream is None:
            return
        with self._lock:
            try:
                if self._bar is not None:
                    self._bar.clear()
                self._stream.write(f"{text}\n")
                self._stream.flush()
                if self._bar is not None:
                    self._bar.refresh()
            except (OSError, ValueError):
                self._bar = None

    def open_bar(self, label: str, total: int | None, unit: str) -> None:
        """Show a bar; one at a time."""
        from tqdm import tqdm  # noqa: PLC0415 - takes a while, and only a person at a terminal needs it

        with self._lock:
            self.close_bar()
            self._bar = tqdm(
                total=total,
                desc=label,
                unit=unit,
                unit_scale=unit == "B",
                file=self._stream,
                ascii=" =",
                dynamic_ncols=self._has_size(),
                ncols=None if self._has_size() else FALLBACK_SIZE.columns,
                nrows=None if self._has_size() else FALLBACK_SIZE.lines,
                leave=True,
            )

    def advance_bar(self, amount: int) -> None:
        """Move the bar by ``amount``."""
        with self._lock, contextlib.suppress(OSError, ValueError):
            if self._bar is not None:
                self._bar.update(amount)

    def close_bar(self) -> None:
        """Leave the bar as it stands and go on below it."""
        with self._lock, contextlib.suppress(OSError, ValueError):
            bar, self._bar = self._bar, None
            if bar is not None:
                bar.close()

    def _has_size(self) -> bool:
        try:
            return self._stream is not None and min(os.get_terminal_size(self._stream.fileno())) > 0
        except (OSError, ValueError):
            return False
