"""How many graphs may run on a device at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class DeviceGate:
    """A semaphore that counts.

    Args:
        slots: graphs that may run at once; none for no limit.
    """

    def __init__(self, slots: int | None) -> None:
        self.slots = slots
        self._semaphore = threading.BoundedSemaphore(slots) if slots is not None else None

    @contextmanager
    def passage(self) -> Iterator[None]:
        """Wait for a free slot and hold it."""
        if self._semaphore is None:
            yield
            return
        with self._semaphore:
            yield
