"""Shows a run to the person at the terminal."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from facefusion.observability.events import (
    Event,
    FrameHeld,
    ModelLoaded,
    Notice,
    StageFinished,
    StageProgress,
    StageStarted,
)
from facefusion.observability.terminal import Terminal

LINE_INTERVAL = 5.0
"""Seconds between two lines of progress where no bar can be drawn."""
LEVEL_ORDER = ("error", "warn", "info", "debug")


@dataclass(slots=True)
class _Stage:
    name: str
    total: int | None
    unit: str
    started: float
    said: float
    done: int = field(default=0)


class TerminalSink:
    """Notices once each, held frames, and the progress of the current stage. Thread-safe.

    At a terminal progress is a bar; elsewhere (a file, a pipe, a build log) it is a plain line every few seconds.
    """

    def __init__(self, terminal: Terminal, level: str = "info", clock: Callable[[], float] = time.monotonic) -> None:
        """Show on ``terminal`` what ``level`` (a value of ``--log-level``) lets through."""
        self._terminal = terminal
        self._level = LEVEL_ORDER.index(level)
        self._clock = clock
        self._lock = threading.Lock()
        self._said: set[str] = set()
        self._stages: list[_Stage] = []
        self._held = 0

    def emit(self, event: Event) -> None:
        """Show one event."""
        with self._lock:
            match event:
                case Notice():
                    self._notice(event)
                case StageStarted():
                    self._start(event)
                case StageProgress():
                    self._advance(event.amount)
                case StageFinished():
                    self._finish()
                case FrameHeld():
                    self._hold(event)
                case ModelLoaded():
                    self._say("debug", f"loaded {event.model} on {event.provider} in {event.seconds:.2f} s")

    def _allows(self, level: str) -> bool:
        return LEVEL_ORDER.index(level) <= self._level

    def _say(self, level: str, text: str) -> None:
        if self._allows(level):
            self._terminal.line(text)

    def _notice(self, notice: Notice) -> None:
        if notice.message in self._said:
            return
        self._said.add(notice.message)
        if notice.warning:
            self._say("warn", f"warning: {notice.message}")
        else:
            self._say("info", notice.message)

    def _hold(self, event: FrameHeld) -> None:
        self._held += 1
        text = f"warning: frame {event.index} is passed through unchanged: {event.reason}"
        self._say("warn" if self._held == 1 else "debug", text)

    def _start(self, event: StageStarted) -> None:
        now = self._clock()
        self._stages.append(_Stage(event.name, event.total, event.unit, started=now, said=now))
        if self._allows("info") and self._terminal.is_interactive:
            self._terminal.open_bar(event.name, event.total, event.unit)

    def _advance(self, amount: int) -> None:
        if not self._stages or not self._allows("info"):
            return
        stage = self._stages[-1]
        stage.done += amount
        if self._terminal.is_interactive:
            self._terminal.advance_bar(amount)
        elif (now := self._clock()) - stage.said >= LINE_INTERVAL:
            stage.said = now
            self._terminal.line(progress_line(stage.name, stage.done, stage.total, stage.unit, now - stage.started))

    def _finish(self) -> None:
        if not self._stages:
            return
        stage = self._stages.pop()
        if not self._allows("info"):
            return
        if self._terminal.is_interactive:
            self._terminal.close_bar()
        else:
            seconds = self._clock() - stage.started
            self._terminal.line(progress_line(stage.name, stage.done, stage.total, stage.unit, seconds))


def progress_line(name: str, done: int, total: int | None, unit: str, seconds: float) -> str:
    """One line of progress: ``processing: 120 of 282 frames, 21.4 frames/s, 8 s left``."""
    if unit == "B":
        amount = f"{done / 2**20:.1f}" + (f" of {total / 2**20:.1f}" if total else "") + " MiB"
    else:
        amount = f"{done}" + (f" of {total}" if total else "") + f" {unit}{'' if (total or done) == 1 else 's'}"
    parts = [f"{name}: {amount}"]
    if seconds > 0 and done > 0:
        rate = done / seconds
        parts.append(f"{rate / 2**20:.1f} MiB/s" if unit == "B" else f"{rate:.1f} {unit}s/s")
        if total is not None and total > done:
            parts.append(f"{(total - done) / rate:.0f} s left")
    return ", ".join(parts)
