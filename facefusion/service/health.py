"""Whether a process of the service can do its work.

Alive is a process that answers at all, so there is nothing to look at. Ready is one that has what it needs; one that is
not is given no requests and no jobs, and is not restarted: another start would not mend a full disk.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import psutil

from facefusion.core.errors import FaceFusionError
from facefusion.service.records import Priority

logger = logging.getLogger(__name__)

PATIENCE = 5.0
"""Seconds to wait for an answer; a network share that hangs never gives one."""
FRESH = 2.0
"""Seconds for which an answer holds, however often it is asked for."""
LEAST_FREE = 1 << 30
"""Bytes that have to be free for work to begin."""

Look = Callable[[], str]
"""Says in a sentence what is wrong; empty where nothing is."""


class Waiting(Protocol):
    """What of a :class:`~facefusion.service.ports.JobQueue` is asked."""

    def waiting(self) -> Mapping[Priority, int]:
        """How many jobs wait, by priority."""


class Room(Protocol):
    """What of a :class:`~facefusion.service.ports.FileStore` is asked."""

    def free_bytes(self) -> int | None:
        """How much more fits; none where that has no limit that is known."""


class Log(Protocol):
    """What of a :class:`~facefusion.service.audit.AuditLog` is asked."""

    def check(self) -> None:
        """Make sure that lines can be added."""


@dataclass(frozen=True, slots=True)
class Health:
    """What was found."""

    parts: Mapping[str, str]
    """By the name of each part: what is wrong with it, or nothing. Without names of machines, folders and files."""

    @property
    def is_ready(self) -> bool:
        """Whether nothing is wrong."""
        return not any(self.parts.values())

    def document(self) -> dict[str, object]:
        """As values of JSON, for whoever asks."""
        return {
            "status": "ready" if self.is_ready else "not ready",
            "checks": {name: fault or "ok" for name, fault in self.parts.items()},
        }


class Readiness:
    """Looks at the parts that a process needs. Thread-safe; an answer takes :data:`PATIENCE` at most.

    Args:
        looks: what to look at, by name.
        patience: seconds to wait for all of them.
        fresh: seconds for which an answer holds.
        clock: seconds; another one in tests.
    """

    def __init__(
        self,
        looks: Mapping[str, Look],
        *,
        patience: float = PATIENCE,
        fresh: float = FRESH,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._looks = dict(looks)
        self._patience = patience
        self._fresh = fresh
        self._clock = clock
        self._lock = threading.Lock()
        self._pending: dict[str, Future[str]] = {}
        self._answer: tuple[float, Health] | None = None

    def add(self, name: str, look: Look) -> None:
        """Look at one more part, or at another one under its name, from the next question on."""
        with self._lock:
            self._looks[name] = look
            self._pending.pop(name, None)
            self._answer = None

    def look(self) -> Health:
        """What is wrong at the moment."""
        with self._lock:
            if self._answer is not None and self._clock() - self._answer[0] < self._fresh:
                return self._answer[1]
            # One that still hangs is waited for again, not asked a second time: threads would pile up.
            for name, look in self._looks.items():
                if name not in self._pending:
                    self._pending[name] = _begin(name, look)
            done, _ = wait(self._pending.values(), timeout=self._patience)
            health = Health({name: self._fault(future in done, future) for name, future in self._pending.items()})
            self._pending = {name: future for name, future in self._pending.items() if future not in done}
            self._answer = self._clock(), health
            return health

    def _fault(self, is_done: bool, future: Future[str]) -> str:
        return future.result() if is_done else f"gives no answer within {self._patience:g} seconds"


def _begin(name: str, look: Look) -> Future[str]:
    future: Future[str] = Future()

    def work() -> None:
        try:
            fault = look()
        except (FaceFusionError, OSError) as error:
            logger.warning("%s is not ready: %s", name, error)
            fault = "cannot be used"
        except Exception:  # whoever asks for health needs an answer
            logger.exception("%s could not be looked at", name)
            fault = "could not be looked at"
        future.set_result(fault)

    threading.Thread(target=work, name=f"health of {name}", daemon=True).start()
    return future


def queue_look(queue: Waiting) -> Look:
    """Whether what keeps the jobs can be reached."""

    def look() -> str:
        queue.waiting()
        return ""

    return look


def audit_look(log: Log) -> Look:
    """Whether the audit log can be written: nothing is done that it does not tell."""

    def look() -> str:
        log.check()
        return ""

    return look


def storage_look(store: Room, least: int = LEAST_FREE) -> Look:
    """Whether the storage of assets and results can be reached and has room for ``least`` more bytes."""

    def look() -> str:
        free = store.free_bytes()
        return _room(free, least)

    return look


def disk_look(places: Iterable[Path], least: int = LEAST_FREE) -> Look:
    """Whether the disks of some folders of this machine have room for ``least`` more bytes each."""
    places = tuple(places)

    def look() -> str:
        return _room(min((psutil.disk_usage(str(place)).free for place in places), default=None), least)

    return look


def models_look(missing: Callable[[], Sequence[str]]) -> Look:
    """Whether models are on this machine, verified.

    Args:
        missing: names of those that are not.
    """

    def look() -> str:
        names = missing()
        return f"missing: {', '.join(names)}" if names else ""

    return look


def _room(free: int | None, least: int) -> str:
    if free is None or free >= least:
        return ""
    return f"{free >> 20} MiB are free, and {least >> 20} MiB are needed"
