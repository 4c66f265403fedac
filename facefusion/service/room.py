"""Whether a worker has room for a unit: memory of the machine, and of its cards."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from facefusion.memory.machine import read_machine

MISSED_SECONDS = 60.0
"""For how long it is told what a unit found missing. One that is still not done comes again long before that."""
LEAST_ROOM = 1 << 30
"""Bytes of memory without which no unit is begun, where no limit is set."""
GIGABYTE = 1_000_000_000


class Room:
    """What is free, and what a unit found missing. Thread-safe.

    Args:
        limit_gb: the worker's limit of memory, in gigabytes; 0 where none is set. As much has to be free.
        held: bytes that this process holds already.
        video_shortage: says in a sentence what is missing of video memory; empty where nothing is.
        clock: seconds that only grow.
    """

    def __init__(
        self,
        limit_gb: float,
        held: Callable[[], int],
        video_shortage: Callable[[], str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._wanted = max(round(limit_gb * GIGABYTE), LEAST_ROOM)
        self._held = held
        self._video_shortage = video_shortage
        self._lock = threading.Lock()
        self._clock = clock
        self._missed, self._missed_at = "", 0.0

    @property
    def missed(self) -> str:
        """What a unit found missing of late, unless another one found all since; empty where nothing."""
        with self._lock:
            return self._missed if self._clock() - self._missed_at < MISSED_SECONDS else ""

    def shortage(self) -> str:
        """What is missing for any unit at all; empty where nothing is."""
        free = read_machine().available + self._held()
        if free < self._wanted:
            return f"{free >> 20} MiB of memory are free, and {self._wanted >> 20} MiB are needed"
        return self._video_shortage()

    def miss(self, fault: str) -> None:
        """Note what the last unit found missing, or with an empty text that it found all."""
        with self._lock:
            self._missed, self._missed_at = fault, self._clock()

    def look(self) -> str:
        """What keeps this worker from its work; a :data:`~facefusion.service.health.Look`."""
        return self.shortage() or self.missed
