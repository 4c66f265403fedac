"""Tells a worker that is slow from one that hangs.

A thread that renews a lease lives on while the work beside it waits for ever for a card, a share of the network or a
lock. So the lease is renewed only as long as the work shows signs of life: a frame that is done, a stage that begins
or ends, a graph that ran, a model that was loaded.
"""

from __future__ import annotations

import faulthandler
import logging
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from facefusion.core.activity import Activity
from facefusion.observability.events import Event, StageFinished, StageStarted

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds without a sign of life after which work counts as hanging."""

    working: float = 10 * 60.0
    """While frames are worked on, and no model is being loaded."""
    preparing: float = 60 * 60.0
    """Else: while files are fetched, models are loaded and compiled, a result is joined, checked and put away."""
    grace: float = 30.0
    """That work has to come to its end when it is stopped because it hangs, before its process is ended."""


class Pulse:
    """Notes signs of life of one unit's work. Thread-safe; an :class:`~facefusion.observability.events.EventSink`.

    Args:
        patience: how long to wait for the next one.
        activity: what models do; asked whenever it is wondered how long to wait.
        clock: seconds that only grow.
    """

    def __init__(
        self, patience: Patience, activity: Callable[[], Activity], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._patience = patience
        self._activity = activity
        self._clock = clock
        self._lock = threading.Lock()
        self._is_in_stage = False
        self._seen = activity()
        self._last = clock()

    def emit(self, event: Event) -> None:
        """Take one event; each is a sign of life."""
        with self._lock:
            if isinstance(event, StageStarted | StageFinished):
                self._is_in_stage = isinstance(event, StageStarted)
            self._last = self._clock()

    def left(self) -> float:
        """Seconds to wait for the next sign of life; 0 where that was waited for in vain."""
        now = self._activity()
        with self._lock:
            if now != self._seen:
                self._seen, self._last = now, self._clock()
            is_working = self._is_in_stage and not now.is_loading
            patience = self._patience.working if is_working else self._patience.preparing
            return max(self._last + patience - self._clock(), 0.0)


class Watchdog:
    """Ends this process where nobody says in time that it is well, and writes down where each thread stood.

    What hangs in a driver or a library hears nothing, and may even hold the interpreter's lock, so that no thread of
    Python runs any more. So the watch is kept by a thread of the interpreter's own, which needs no lock; it ends the
    process with status 1 at once. Whatever starts workers starts it anew, and its lease lapses.
    """

    def arm(self, seconds: float) -> None:
        """End the process in so many seconds, whatever was said before."""
        faulthandler.dump_traceback_later(max(seconds, 0.001), exit=True, file=sys.__stderr__ or sys.stderr)

    def disarm(self) -> None:
        """Do not end it."""
        faulthandler.cancel_dump_traceback_later()
