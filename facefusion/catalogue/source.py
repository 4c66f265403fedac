"""What the two kinds of sources (wheels, public addresses) share."""

from __future__ import annotations

from facefusion.core.stop import StopToken
from facefusion.observability.events import EventSink, StageFinished, StageProgress, StageStarted


class SourceError(Exception):
    """One source could not deliver; another may. The text says why, without a full stop."""


class Transfer:
    """Tells the events how far one transfer is, and leaves it when a stop is asked for.

    A transfer that starts again does not run backwards.
    """

    def __init__(self, name: str, total: int, events: EventSink, stop: StopToken) -> None:
        self._name = name
        self._total = total
        self._events = events
        self._stop = stop
        self._reached = 0

    def __enter__(self) -> Transfer:
        """Begin the stage."""
        self._events.emit(StageStarted(self._name, self._total, "B"))
        return self

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        """End the stage, well or not."""
        self._events.emit(StageFinished(complete=kind is None))

    def at(self, position: int) -> None:
        """So many bytes are there now.

        Raises:
            Stopped: a stop was asked for.
        """
        self._stop.check()
        position = min(position, self._total)
        if position > self._reached:
            self._events.emit(StageProgress(position - self._reached))
            self._reached = position
