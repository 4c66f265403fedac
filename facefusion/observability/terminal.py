"""The one writer of the error stream: log lines, notices and a progress bar that do not tear each other apart."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Never, TextIO

if TYPE_CHECKING:
    from tqdm import tqdm


FALLBACK_SIZE = os.terminal_size((80, 24))
"""Where the terminal says it has none, as in a container; a bar would stay invisible."""


class Terminal:
    """Writes whole lines to a stream, above the progress bar if one is shown. Thread-safe.

    A reader that went away (a closed pipe) never stops the work: what is written after that is lost.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.RLock()
        self._bar: tqdm[Never] | None = None

    @property
    def is_interactive(self) -> bool:
        """Whether a person looks at it, so that a bar can be redrawn in place."""
        return self._stream.isatty()

    def line(self, text: str) -> None:
        """Write one line, or several."""
        with self._lock:
            try:
                if self._bar is not None:
                    self._bar.clear()
                self._stream.write(f"{text}\n")
                self._stream.flush()
                if self._bar is not None:
                    self._bar.refresh()
            except (BrokenPipeError, ValueError):
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
        with self._lock:
            if self._bar is not None:
                self._bar.update(amount)

    def close_bar(self) -> None:
        """Leave the bar as it stands and go on below it."""
        with self._lock:
            if self._bar is not None:
                self._bar.close()
                self._bar = None

    def _has_size(self) -> bool:
        try:
            return min(os.get_terminal_size(self._stream.fileno())) > 0
        except (OSError, ValueError):
            return False
