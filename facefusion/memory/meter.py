"""Watches how much memory the run really takes."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable
from types import TracebackType

import psutil

from facefusion.core.errors import ResourceError
from facefusion.memory.budget import GIB, LESS

PRESSURE_ON = 0.90
"""Share of the limit at which no new frame is let in ..."""
PRESSURE_OFF = 0.80
"""... and at which frames are let in again. Apart, so that the valve does not flutter."""


LOOK_SECONDS = 2.0
"""Between looks for new children: finding them takes a look at every process of the machine, as many as there are."""


class ProcessTree:
    """This process with its children.

    Args:
        clock: monotonic seconds; another one in tests.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._own = psutil.Process()
        self._children: list[psutil.Process] = []
        self._next_look = -math.inf

    def resident_bytes(self) -> int:
        """Resident memory now, in bytes; a child counts from the first look on, :data:`LOOK_SECONDS` at most.

        Pages that processes share count once for each.
        """
        now = self._clock()
        if now >= self._next_look:
            self._next_look = now + LOOK_SECONDS
            self._children = self._own.children(recursive=True)
        total = int(self._own.memory_info().rss)
        for child in self._children:
            # It may have ended since.
            with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                total += int(child.memory_info().rss)
        return total


def resident_bytes() -> int:
    """Resident memory of this process and its children, in bytes. Pages they share count once per process."""
    return ProcessTree().resident_bytes()


class MemoryMeter:
    """Samples memory from a thread of its own while it is open.

    Reading :meth:`pressure` costs nothing; it returns what the last sample said. Thread-safe.

    Args:
        limit: bytes the run may take; none to measure only.
        interval: seconds between samples.
        read: measures; where none is given, a :class:`ProcessTree`.
    """

    def __init__(
        self, limit: int | None = None, *, interval: float = 0.25, read: Callable[[], int] | None = None
    ) -> None:
        self._limit = limit
        self._interval = interval
        self._read = read or ProcessTree().resident_bytes
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._current = 0
        self._peak = 0
        self._pressed = False

    def __enter__(self) -> MemoryMeter:
        self.sample()
        self._stop.clear()
        self._thread = threading.Thread(target=self._watch, name="memory-meter", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self.sample()

    @property
    def current(self) -> int:
        """Bytes at the last sample."""
        return self._current

    @property
    def peak(self) -> int:
        """Highest sample so far, in bytes."""
        return self._peak

    def pressure(self) -> bool:
        """True while the run is near its limit, and no new frame should be let in until others are done."""
        return self._pressed

    def check(self) -> None:
        """Stop a run that back-pressure could not hold.

        Raises:
            ResourceError: the last sample was above the limit.
        """
        if self._limit is not None and self._current > self._limit:
            raise ResourceError(
                f"the run takes {self._current / GIB:.1f} GB of memory, above its limit of {self._limit / GIB:.1f} GB",
                LESS,
            )

    def sample(self) -> int:
        """Measure now, beside the thread's rhythm, and return the bytes in use."""
        amount = self._read()
        with self._lock:
            self._current = amount
            self._peak = max(self._peak, amount)
            if self._limit is not None:
                threshold = PRESSURE_OFF if self._pressed else PRESSURE_ON
                self._pressed = amount > threshold * self._limit
        return amount

    def _watch(self) -> None:
        while not self._stop.wait(self._interval):
            self.sample()
