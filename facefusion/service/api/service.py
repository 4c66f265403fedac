"""What the API works with, put together once by whoever starts it."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from facefusion.service.audit import AuditLog
from facefusion.service.auth import Gate
from facefusion.service.callback_hosts import CallbackHosts
from facefusion.service.callbacks import Courier
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
MOST_UPLOADS = 16
"""Uploads that one user may send at a time to one machine."""

Exposition = Callable[[], tuple[bytes, str]]
"""What Prometheus is told, with its content type."""

Observer = Callable[[str, str, int, float], None]
"""Told of each answer: method, route, status, seconds until it began."""


class Streams:
    """Counts who watches, and who uploads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watchers: Counter[str] = Counter()
        self._uploads: Counter[str] = Counter()
        self.ending = threading.Event()
        """Set when the service ends, and with it all streams."""

    @contextmanager
    def watching(self, subject: str) -> Iterator[None]:
        """Count a watcher.

        Raises:
            RateLimitError: there are as many as there may be.
        """
        fault = f"you watch {MOST_STREAMS} jobs already"
        remedy = "Close a stream of events, or ask for the job itself."
        with self._counted(self._watchers, subject, MOST_STREAMS, RateLimitError(fault, remedy)):
            yield

    @contextmanager
    def uploading(self, subject: str) -> Iterator[None]:
        """Count an upload.

        Raises:
            RateLimitError: there are as many as there may be.
        """
        fault = f"you send {MOST_UPLOADS} uploads already"
        with self._counted(self._uploads, subject, MOST_UPLOADS, RateLimitError(fault, "Wait until one is there.")):
            yield

    @contextmanager
    def _counted(self, counts: Counter[str], subject: str, most: int, refusal: RateLimitError) -> Iterator[None]:
        with self._lock:
            if counts[subject] >= most:
                raise refusal
            counts[subject] += 1
        try:
            yield
        finally:
            with self._lock:
                counts[subject] -= 1
                if not counts[subject]:
                    del counts[subject]


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
    callbacks: CallbackHosts = field(default_factory=lambda: CallbackHosts(()))
    """Whom jobs may have called at their end."""
    courier: Courier | None = None
    """Makes those calls; none where nobody may be called."""
    observe: Observer | None = None
    """Told of each answer."""
    clock: Callable[[], float] = time.time
    """Seconds since 1970."""
    streams: Streams = field(default_factory=Streams)
