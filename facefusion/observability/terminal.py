"""The error stream and the log file: what is said goes to both, and nothing tears anything else apart."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from types import MappingProxyType
from typing import TYPE_CHECKING, Never, TextIO

from facefusion.observability.records import LEVELS, JsonFormatter, TextFormatter, spoken_record

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tqdm import tqdm


FALLBACK_SIZE = os.terminal_size((80, 24))
"""Where the terminal says it has none, as in a container; a bar would stay invisible."""


class Terminal:
    """Says things to the person, or the machine, that started the program. Thread-safe.

    Writes whole lines to a stream, above the progress bar if one is shown, and to a log file if there is one. A stream
    that is closed, full or read by nobody never stops the work: what is written to it is lost.
    """

    def __init__(self, stream: TextIO | None, level: str = "info") -> None:
        """Say what ``level`` lets through, as text.

        Args:
            stream: where to; none where the process was started without one.
            level: a key of :data:`~facefusion.observability.records.LEVELS`.
        """
        self._stream = stream
        self._lock = threading.RLock()
        self._bar: tqdm[Never] | None = None
        self._form: logging.Formatter = TextFormatter()
        self._log: logging.Handler | None = None
        self._level = LEVELS[level]

    def set_up(self, level: str, *, json: bool = False, log: logging.Handler | None = None) -> None:
        """Set how much is said, in which form, and where it is kept as well."""
        self._level = LEVELS[level]
        self._form = JsonFormatter() if json else TextFormatter()
        self._log = log

    @property
    def is_interactive(self) -> bool:
        """Whether a person looks at it, so that a bar can be redrawn in place."""
        return self._stream is not None and self._stream.isatty()

    @property
    def speaks_json(self) -> bool:
        """Whether a machine reads it."""
        return isinstance(self._form, JsonFormatter)

    @property
    def draws_bars(self) -> bool:
        """Whether progress is a bar."""
        return self.is_interactive and not self.speaks_json and self.lets_through("info")

    def lets_through(self, level: str) -> bool:
        """Whether something of that level is said."""
        return LEVELS[level] >= self._level

    def line(
        self,
        text: str | Iterable[str],
        level: str = "info",
        *,
        module: str = "cli",
        marked: bool = True,
        failure: BaseException | None = None,
        on_screen: bool = True,
        fields: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        """Say one line, or several.

        Args:
            text: without a mark of its level; one line, whatever is in it, or several, each by itself.
            level: ``error``, ``warn``, ``info`` or ``debug``; text says ``error:`` and ``warning:`` in front.
            module: the part of the program that says it.
            marked: whether text says the level.
            failure: what happened; its traceback is shown at the level ``debug``.
            on_screen: whether it is said on the stream; it goes to the log file in any case.
            fields: what the text tells, as values of JSON, for those who read that.
        """
        if not self.lets_through("debug"):
            failure = None
        self.record(
            spoken_record(text, level, module=module, marked=marked, failure=failure, fields=fields),
            on_screen=on_screen,
        )

    def record(self, record: logging.LogRecord, *, on_screen: bool = True) -> None:
        """Say what a record says, if the level lets it through."""
        if record.levelno < self._level:
            return
        if self._log is not None:
            self._log.handle(record)
        if on_screen:
            self._write(self._form.format(record))

    def at_once(self, text: str) -> None:
        """Say a line past every lock and buffer, whose owner a signal may have interrupted; not in the log file."""
        line = self._form.format(spoken_record(text))
        gap = "\n" if self._bar is not None else ""  # the bar's line stays as it is
        if self._stream is not None:
            with contextlib.suppress(OSError, ValueError):
                os.write(self._stream.fileno(), f"{gap}{line}\n".encode(errors="replace"))

    def open_bar(self, label: str, total: int | None, unit: str, done: int = 0) -> None:
        """Show a bar of which ``done`` is done already; one at a time."""
        from tqdm import tqdm  # noqa: PLC0415 - takes a while, and only a person at a terminal needs it

        with self._lock:
            self.close_bar()
            self._bar = tqdm(
                total=total,
                initial=done,
                desc=label,
                unit=unit,
                unit_scale=unit == "B",
                unit_divisor=1024,
                file=self._stream,
                ascii=" =",
                dynamic_ncols=self._has_size(),
                ncols=None if self._has_size() else FALLBACK_SIZE.columns,
                nrows=None if self._has_size() else FALLBACK_SIZE.lines,
                leave=True,
            )

    def advance_bar(self, amount: int, *, earlier: bool = False) -> None:
        """Move the bar by ``amount``; what was done ``earlier`` counts for nothing in its rate."""
        with self._lock, contextlib.suppress(OSError, ValueError):
            if self._bar is None:
                return
            if earlier:
                self._bar.initial += amount
                self._bar.n += amount
                self._bar.last_print_n += amount
                self._bar.refresh()
            else:
                self._bar.update(amount)

    def close_bar(self, *, complete: bool = False) -> None:
        """Leave the bar as it stands, or, where all is done, at 100 %, and go on below it."""
        with self._lock, contextlib.suppress(OSError, ValueError):
            bar, self._bar = self._bar, None
            if bar is not None:
                if complete:
                    bar.total = bar.n
                bar.close()

    def _write(self, text: str) -> None:
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

    def _has_size(self) -> bool:
        try:
            return self._stream is not None and min(os.get_terminal_size(self._stream.fileno())) > 0
        except (OSError, ValueError):
            return False
