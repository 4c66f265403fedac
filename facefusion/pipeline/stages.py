"""Counting the seconds that each stage is busy."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager


class StageClock:
    """Adds up busy seconds per stage over all threads. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seconds: defaultdict[str, float] = defaultdict(float)

    @contextmanager
    def measure(self, stage: str) -> Iterator[None]:
        """Count the time inside the block towards ``stage``."""
        start = time.perf_counter()
        try:
            yield
        finally:
            passed = time.perf_counter() - start
            with self._lock:
                self._seconds[stage] += passed

    def seconds(self) -> dict[str, float]:
        """Seconds per stage so far, in the order in which the stages were first seen."""
        with self._lock:
            return dict(self._seconds)
