"""What happens during a run, told to whoever listens.

Events are frozen values. Code that works emits them and does not know who listens: progress bar, log, report, and
later metrics. A sink that fails never stops the work.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Event:
    """Base of all events."""


@dataclass(frozen=True, slots=True)
class Notice(Event):
    """Something the user should read once: a fallback, a choice made for them, a limit that could not be set."""

    message: str
    warning: bool = False


@dataclass(frozen=True, slots=True)
class StageStarted(Event):
    """A stage with a known or unknown amount of work begins; ``total`` in ``unit``, none where unknown."""

    name: str
    total: int | None = None
    unit: str = "frame"


@dataclass(frozen=True, slots=True)
class StageProgress(Event):
    """``amount`` more units of the current stage are done."""

    amount: int = 1
    earlier: bool = False
    """Whether an earlier run did them, so that they say nothing on how fast this one is."""


@dataclass(frozen=True, slots=True)
class StageFinished(Event):
    """The current stage is over."""

    complete: bool = False
    """Whether all of it is done. A total that was an estimate turns out to be what was done."""


@dataclass(frozen=True, slots=True)
class StepStarted(Event):
    """A step of several begins: one of a job, or one of a batch. Stages up to its end are its own."""

    index: int
    """From 1."""
    count: int
    name: str
    """What is worked on, for people, such as the path of the output."""


@dataclass(frozen=True, slots=True)
class StepFinished(Event):
    """The current step is over, well or not."""


@dataclass(frozen=True, slots=True)
class ModelLoaded(Event):
    """A session was made: the model, the provider it really got and the seconds it took."""

    model: str
    provider: str
    seconds: float


@dataclass(frozen=True, slots=True)
class FrameHeld(Event):
    """A frame was passed through unchanged since working on it failed."""

    index: int
    reason: str


class EventSink(Protocol):
    """Listens. Called from several threads, so it must be thread-safe, and quick."""

    def emit(self, event: Event) -> None:
        """Take one event."""


class Fanout:
    """Passes each event to several sinks; one that raises is logged and skipped."""

    def __init__(self, sinks: Iterable[EventSink] = ()) -> None:
        self._sinks = tuple(sinks)

    def emit(self, event: Event) -> None:
        """Pass ``event`` on to every sink."""
        for sink in self._sinks:
            try:
                sink.emit(event)
            except Exception:  # a listener must never stop the work
                logger.exception("event sink %r failed", sink)
