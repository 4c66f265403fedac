"""Says what happens during a run: to the person at the terminal, to the machine that reads JSON, to the log file."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from facefusion.observability.events import (
    Event,
    FrameHeld,
    ModelLoaded,
    Notice,
    StageFinished,
    StageProgress,
    StageStarted,
    StepFinished,
    StepStarted,
)
from facefusion.observability.terminal import Terminal

LINE_INTERVAL = 5.0
"""Seconds between two lines of progress where no bar can be drawn, and in the log file."""
MODULE = "run"
"""Who tells of events, in records."""


@dataclass(slots=True)
class Stage:
    """How far a stage is."""

    name: str
    total: int | None
    unit: str
    started: float
    """Seconds on the clock in use."""
    said: float
    """When its progress was last told."""
    done: int = 0
    earlier: int = 0
    """How much of that an earlier run did."""

    def rate(self, now: float) -> float | None:
        """Units a second; none while there is nothing to tell it by."""
        seconds, amount = now - self.started, self.done - self.earlier
        return amount / seconds if seconds > 0 and amount > 0 else None

    def seconds_left(self, now: float) -> float | None:
        """Seconds until it is done, at the rate so far; none where that or the total is unknown."""
        rate = self.rate(now)
        return None if rate is None or self.total is None else max(self.total - self.done, 0) / rate

    def line(self, now: float) -> str:
        """One line of progress: ``process: 120 of 282 frames, 21.4 frames/s, 8 s left``."""
        total = self.total if self.total is not None and self.total >= self.done else None
        parts = [f"{self.name}: {self._amount(total)}"]
        rate, left = self.rate(now), self.seconds_left(now)
        if rate is not None:
            parts.append(f"{rate / 2**20:.1f} MiB/s" if self.unit == "B" else f"{rate:.1f} {self.unit}s/s")
            if left:
                parts.append(f"{left:.0f} s left")
        return ", ".join(parts)

    def fields(self, now: float) -> dict[str, object]:
        """The same as values."""
        rate, left = self.rate(now), self.seconds_left(now)
        return {
            "stage": self.name,
            "unit": self.unit,
            "done": self.done,
            "total": self.total,
            "rate": None if rate is None else round(rate, 3),
            "seconds_left": None if left is None else round(left, 1),
        }

    def _amount(self, total: int | None) -> str:
        if self.unit == "B":
            return f"{self.done / 2**20:.1f}" + (f" of {total / 2**20:.1f}" if total else "") + " MiB"
        unit = self.unit if (total or self.done) == 1 else f"{self.unit}s"
        return f"{self.done} of {total} {unit}" if total else f"{self.done} {unit}"


class TerminalSink:
    """Notices once each, steps, held frames, and the progress of the current stage. Thread-safe.

    At a terminal progress is a bar; elsewhere (a file, a pipe, a build log, JSON) it is a line every few seconds and at
    the end. A log file gets the lines in any case.
    """

    def __init__(self, terminal: Terminal, clock: Callable[[], float] = time.monotonic) -> None:
        """Say what happens by way of ``terminal``, whose level decides how much."""
        self._terminal = terminal
        self._clock = clock
        self._lock = threading.Lock()
        self._said: set[str] = set()
        self._stages: list[Stage] = []
        self._step: StepStarted | None = None
        self._held = 0

    def emit(self, event: Event) -> None:
        """Tell of one event."""
        with self._lock:
            match event:
                case Notice():
                    self._notice(event)
                case StepStarted():
                    self._begin_step(event)
                case StepFinished():
                    self._step, self._held = None, 0
                case StageStarted():
                    self._start(event)
                case StageProgress():
                    self._advance(event)
                case StageFinished():
                    self._finish(event)
                case FrameHeld():
                    self._hold(event)
                case ModelLoaded():
                    self._loaded(event)

    def _say(self, level: str, event: str, text: str, fields: Mapping[str, object], *, on_screen: bool = True) -> None:
        step = {} if self._step is None else {"step": self._step.index, "steps": self._step.count}
        about = {"event": event, **step, **fields}
        self._terminal.line(text, level, module=MODULE, on_screen=on_screen, fields=about)

    def _notice(self, notice: Notice) -> None:
        if notice.message not in self._said:
            self._said.add(notice.message)
            self._say("warn" if notice.warning else "info", "notice", notice.message, {})

    def _hold(self, held: FrameHeld) -> None:
        self._held += 1
        text = f"frame {held.index} is passed through unchanged: {held.reason}"
        level = "warn" if self._held == 1 else "debug"
        self._say(level, "frame_held", text, {"frame": held.index, "reason": held.reason})

    def _loaded(self, loaded: ModelLoaded) -> None:
        text = f"loaded {loaded.model} on {loaded.provider} in {loaded.seconds:.2f} s"
        fields = {"model": loaded.model, "provider": loaded.provider, "seconds": round(loaded.seconds, 3)}
        self._say("debug", "model_loaded", text, fields)

    def _begin_step(self, step: StepStarted) -> None:
        self._step, self._held = step, 0
        text = f"step {step.index} of {step.count}: {step.name}"
        # One step of one is the whole run, which says what it does by itself.
        self._say(
            "info", "step_started", text, {"name": step.name}, on_screen=step.count > 1 or self._terminal.speaks_json
        )

    def _start(self, event: StageStarted) -> None:
        now = self._clock()
        stage = Stage(event.name, event.total, event.unit, started=now, said=now)
        self._stages.append(stage)
        self._tell(stage, "stage_started", now, on_screen=self._terminal.speaks_json)
        self._draw(stage)

    def _advance(self, event: StageProgress) -> None:
        if not self._stages:
            return
        stage = self._stages[-1]
        stage.done += event.amount
        if event.earlier:
            stage.earlier += event.amount
        self._terminal.advance_bar(event.amount, earlier=event.earlier)
        now = self._clock()
        if now - stage.said >= LINE_INTERVAL:
            stage.said = now
            self._tell(stage, "progress", now, on_screen=not self._terminal.draws_bars)

    def _finish(self, event: StageFinished) -> None:
        if not self._stages:
            return
        stage = self._stages.pop()
        if event.complete:
            stage.total = stage.done
        self._terminal.close_bar(complete=event.complete)
        self._tell(stage, "stage_finished", self._clock(), on_screen=not self._terminal.draws_bars)
        if self._stages:
            self._draw(self._stages[-1])

    def _tell(self, stage: Stage, event: str, now: float, *, on_screen: bool) -> None:
        self._say("info", event, stage.line(now), stage.fields(now), on_screen=on_screen)

    def _draw(self, stage: Stage) -> None:
        if not self._terminal.draws_bars:
            return
        several = self._step is not None and self._step.count > 1
        label = f"step {self._step.index} of {self._step.count}, {stage.name}" if several and self._step else stage.name
        self._terminal.open_bar(label, stage.total, stage.unit, stage.done)
