"""What the two kinds of sources (wheels, public addresses) share."""

from __future__ import annotations

from facefusion.core.stop import StopToken
from facefusion.observability.events import EventSink, StageFinished, StageProgress, StageStarted


class SourceError(Exception):
    """One source could not deliver; another may. The text says why, without a full stop."""


class UnreachableError(SourceError):
    """There is no way to the server, so asking it for another file is of no use either."""


class Transfer:
    """Tells the events how far one transfer is, and leaves it when a stop is asked for.

    A transfer that starts again does not run backwards.

    Args:
        name: for people.
        total: bytes to come; none where that is known only once it begins, see :meth:`expect`.
        events: told about it.
        stop: looked at as bytes come.
    """

    def __init__(self, name: str, total: int | None, events: EventSink, stop: StopToken) -> None:
        self._name = name
        self._total = total
        self._events = events
        self._stop = stop
        self._reached = 0
        self._begun = False

    def __enter__(self) -> Transfer:
        """Begin the stage, where its size is known."""
        if self._total is not None:
            self.expect(self._total)
        return self

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        """End the stage, well or not."""
        if self._begun:
            self._events.emit(StageFinished(complete=kind is None))

    def expect(self, total: int | None) -> None:
        """So many bytes will come, or nobody knows how many. What was said before stands."""
        if not self._begun:
            self._begun = True
            self._total = total
            self._events.emit(StageStarted(self._name, total, "B"))

    def at(self, position: int) -> None:
        """So many bytes are there now.

        Raises:
            Stopped: a stop was asked for.
        """
        self._stop.check()
        position = position if self._total is None else min(position, self._total)
        if position > self._reached:
            self._events.emit(StageProgress(position - self._reached))
            self._reached = position
