"""What the API works with, put together once by whoever starts it."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from facefusion.service.audit import AuditLog
from facefusion.service.auth import Gate
from facefusion.service.errors import RateLimitError
from facefusion.service.health import Readiness
from facefusion.service.ports import FileStore, JobQueue
from facefusion.service.rates import RateLimits
from facefusion.service.retention import Retention
from facefusion.service.settings import ServiceSettings
from facefusion.service.steps import StepRules
from facefusion.service.uploads import Uploads

MOST_STREAMS = 32
"""Watchers of jobs that one user may have at a time on one machine."""

Exposition = Callable[[], tuple[bytes, str]]
"""What Prometheus is told, with its content type."""

Observer = Callable[[str, str, int, float], None]
"""Told of each answer: method, route, status, seconds until it began."""


class Streams:
    """Counts who watches."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: Counter[str] = Counter()
        self.ending = threading.Event()
        """Set when the service ends, and with it all streams."""

    @contextmanager
    def watching(self, subject: str) -> Iterator[None]:
        """Count a watcher.

        Raises:
            RateLimitError: there are as many as there may be.
        """
        with self._lock:
            if self._open[subject] >= MOST_STREAMS:
                raise RateLimitError(
                    f"you watch {MOST_STREAMS} jobs already", "Close a stream of events, or ask for the job itself."
                )
            self._open[subject] += 1
        try:
            yield
        finally:
            with self._lock:
                self._open[subject] -= 1
                if not self._open[subject]:
                    del self._open[subject]


@dataclass(frozen=True)
class Service:
    """The parts of the service that requests are answered with."""

    settings: ServiceSettings
    gate: Gate
    rates: RateLimits
    queue: JobQueue
    files: FileStore
    uploads: Uploads
    retention: Retention
    rules: StepRules
    audit: AuditLog
    readiness: Readiness
    exposition: Exposition
    folder: Path
    """For copies of results on their way to a client."""
    observe: Observer | None = None
    """Told of each answer."""
    clock: Callable[[], float] = time.time
    """Seconds since 1970."""
    streams: Streams = field(default_factory=Streams)
