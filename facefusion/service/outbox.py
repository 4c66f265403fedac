"""Calls to make when jobs are at their end: written down with that end, and crossed out once they were made."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from facefusion.service.records import JobRecord


@dataclass(frozen=True, slots=True)
class Call:
    """A call that is due."""

    job: JobRecord
    """At its end, and with an address to call."""
    tries: int
    """How often it was begun, this time among them."""


class Outbox(Protocol):
    """Calls that are to be made. Every method may be called from any thread.

    Raises:
        ServiceUnavailableError: from any method, where what keeps them cannot be reached.
    """

    def take(self, hold: float) -> Call | None:
        """The call that has been due longest; none where none is.

        Args:
            hold: seconds for which nobody else gets it. Then it is due again, unless it was crossed out: so none is
                lost with who took it.
        """

    def postpone(self, job_id: str, seconds: float) -> None:
        """Have a call due in so many seconds. Harmless where it was crossed out, or its job erased."""

    def cross_out(self, job_id: str) -> None:
        """Make a call no more: it was made, or given up. Harmless where there is none."""


class MemoryOutbox:
    """An :class:`Outbox` of this process alone, which forgets with it.

    Args:
        clock: seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._due: dict[str, float] = {}
        self._calls: dict[str, Call] = {}

    def put(self, job: JobRecord) -> None:
        """Write down the call of a job that is at its end."""
        with self._lock:
            self._due[job.id] = self._clock()
            self._calls[job.id] = Call(job, 0)

    def take(self, hold: float) -> Call | None:
        """See the port."""
        with self._lock:
            job_id = min(self._due, key=self._due.__getitem__, default=None)
            if job_id is None or self._due[job_id] > self._clock():
                return None
            self._due[job_id] = self._clock() + hold
            call = self._calls[job_id]
            self._calls[job_id] = call = Call(call.job, call.tries + 1)
            return call

    def postpone(self, job_id: str, seconds: float) -> None:
        """See the port."""
        with self._lock:
            if job_id in self._due:
                self._due[job_id] = self._clock() + seconds

    def cross_out(self, job_id: str) -> None:
        """See the port."""
        with self._lock:
            self._due.pop(job_id, None)
            self._calls.pop(job_id, None)
