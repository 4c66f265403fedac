"""Whether a worker has room for a unit: memory of the machine, and of its cards."""

from __future__ import annotations

import threading
from collections.abc import Callable

from facefusion.memory.machine import read_machine

LEAST_ROOM = 1 << 30
"""Bytes of memory without which no unit is begun, where no limit is set."""
GIGABYTE = 1_000_000_000


class Room:
    """What is free, and what a unit found missing. Thread-safe.

    Args:
        limit_gb: the worker's limit of memory, in gigabytes; 0 where none is set. As much has to be free.
        held: bytes that this process holds already.
        video_shortage: says in a sentence what is missing of video memory; empty where nothing is.
    """

    def __init__(self, limit_gb: float, held: Callable[[], int], video_shortage: Callable[[], str]) -> None:
        self._wanted = max(round(limit_gb * GIGABYTE), LEAST_ROOM)
        self._held = held
        self._video_shortage = video_shortage
        self._lock = threading.Lock()
        self._missed = ""

    def shortage(self) -> str:
        """What is missing for any unit at all; empty where nothing is."""
        free = read_machine().available + self._held()
        if free < self._wanted:
            return f"{free >> 20} MiB of memory are free, and {self._wanted >> 20} MiB are needed"
        return self._video_shortage()

    def miss(self, fault: str) -> None:
        """Note what the last unit found missing, or with an empty text that it found all."""
        with self._lock:
            self._missed = fault

    def look(self) -> str:
        """What keeps this worker from its work; a :data:`~facefusion.service.health.Look`."""
        with self._lock:
            missed = self._missed
        return self.shortage() or missed
