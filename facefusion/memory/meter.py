"""Watches how much memory the run really takes."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

import psutil

from facefusion.core.errors import ResourceError
from facefusion.core.ticker import Ticker
from facefusion.memory.budget import GIB, LESS
from facefusion.memory.release import give_back

PRESSURE_ON = 0.90
"""Share of the limit at which no new frame is let in ..."""
PRESSURE_OFF = 0.80
"""... and at which frames are let in again. Apart, so that the valve does not flutter."""


FORGET_PEAK = "5"
"""What ``clear_refs`` is told for it; see ``proc_pid_clear_refs(5)``."""

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

        Pages that processes share count once for each: ours share none but libraries.
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


def high_water(status: Path = Path("/proc/self/status")) -> int:
    """The most resident memory that a process ever had, or since it was told to forget, in bytes.

    0 where the system does not tell.
    """
    lines = status.read_text(encoding="utf-8").splitlines() if status.is_file() else ()
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM:")), 0)


class OwnPeak:
    """The highest point of this process alone, of which the system misses nothing, where it keeps any (Linux).

    Args:
        folder: of the process in ``proc``; another one in tests.
    """

    def __init__(self, folder: Path = Path("/proc/self")) -> None:
        self._folder = folder
        self._is_kept = False

    def forget(self) -> None:
        """Let it count from now on."""
        try:
            (self._folder / "clear_refs").write_text(FORGET_PEAK, encoding="ascii")
        except OSError:  # another system, or a container in which it is not to be written
            self._is_kept = False
        else:
            self._is_kept = True

    def bytes(self) -> int:
        """The most that was resident since; 0 where nobody knows."""
        return high_water(self._folder / "status") if self._is_kept else 0


def resident_bytes() -> int:
    """Resident memory of this process and its children, in bytes.

    Pages they share count once per process; a program that we start shares none with us but those of the C library.
    """
    return ProcessTree().resident_bytes()


class MemoryMeter:
    """Samples memory from a thread of its own while it is open.

    Reading :meth:`pressure` costs nothing; it returns what the last sample said. Thread-safe.

    Args:
        limit: bytes the run may take; none to measure only.
        interval: seconds between samples.
        read: measures; where none is given, a :class:`ProcessTree`.
        relieve: called before a new pressure is believed; gives back what is held for nothing.
    """

    def __init__(
        self,
        limit: int | None = None,
        *,
        interval: float = 0.25,
        read: Callable[[], int] | None = None,
        relieve: Callable[[], None] = give_back,
    ) -> None:
        self._limit = limit
        self._interval = interval
        self._read = read or ProcessTree().resident_bytes
        self._own_peak = OwnPeak() if read is None else None
        self._relieve = relieve
        self._lock = threading.Lock()
        self._ticker: Ticker | None = None
        self._current = 0
        self._peak = 0
        self._pressed = False

    def __enter__(self) -> MemoryMeter:
        if self._own_peak is not None:
            self._own_peak.forget()
        self.sample()
        self._ticker = Ticker(self._interval, self.sample, "memory-meter")
        self._ticker.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._ticker is not None:
            self._ticker.close()
        self.sample()
        self._peak = self.peak
        self._own_peak = None  # from now on it is of what comes after

    @property
    def current(self) -> int:
        """Bytes at the last sample."""
        return self._current

    @property
    def peak(self) -> int:
        """The most so far, in bytes: the highest sample, or what the system saw of this process between samples."""
        return self._peak if self._own_peak is None else max(self._peak, self._own_peak.bytes())

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
        if self._limit is not None and not self._pressed and amount > PRESSURE_ON * self._limit:
            self._relieve()
            amount = self._read()
        with self._lock:
            self._current = amount
            self._peak = max(self._peak, amount)
            if self._limit is not None:
                threshold = PRESSURE_OFF if self._pressed else PRESSURE_ON
                self._pressed = amount > threshold * self._limit
        return amount
