"""Watches how much video memory a run takes."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from types import TracebackType

from facefusion.core.ticker import Ticker
from facefusion.inference.nvml import CardMemory, MemoryReader, read_memory

INTERVAL_SECONDS = 0.5
"""Between samples. Sessions keep what they have taken, so little happens between two that would not show later."""


class VideoMemoryMeter:
    """Samples the memory of cards from a thread of its own while it is open; without a card there is no thread.

    Args:
        cards: UUIDs of the cards that a run is on; those without one are left out.
        interval: seconds between samples.
        read: asks the driver; another function in tests.
    """

    def __init__(
        self, cards: Iterable[str], *, interval: float = INTERVAL_SECONDS, read: MemoryReader = read_memory
    ) -> None:
        self._cards = tuple(dict.fromkeys(card for card in cards if card))
        self._interval = interval
        self._read = read
        self._lock = threading.Lock()
        self._ticker: Ticker | None = None
        self._peak: int | None = None

    def __enter__(self) -> VideoMemoryMeter:
        if self.sample() is not None:
            self._ticker = Ticker(self._interval, self.sample, "video-memory-meter")
            self._ticker.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._ticker is not None:
            self._ticker.close()

    @property
    def peak(self) -> int | None:
        """Highest sample so far, in bytes, one taken now among them; none where no card tells.

        Summed over cards: what this process takes, where the driver tells processes apart, else what all take.
        """
        self.sample()
        return self._peak

    def sample(self) -> int | None:
        """Measure now, beside the thread's rhythm."""
        told = [memory for memory in map(self._read, self._cards) if memory is not None]
        if not told:
            return None
        amount = sum(map(_taken, told))
        with self._lock:
            self._peak = max(self._peak or 0, amount)
        return amount


def _taken(memory: CardMemory) -> int:
    return memory.used if memory.own is None else memory.own
