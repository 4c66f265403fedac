"""How many graphs may run on a device at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from facefusion.core.stop import POLL_SECONDS
from facefusion.inference.slots import CardSlots

Check: TypeAlias = Callable[[], None]
"""Called again and again by who waits; raises where the wait is to end."""


def wait_on() -> None:
    """The check of one whom nothing keeps from waiting."""


class DeviceGate:
    """Lets a number of runs through at once.

    Args:
        slots: graphs that may run at once; none for no limit.
        card: where the device is shared with other processes, what is counted for all of them.
    """

    def __init__(self, slots: int | None, card: CardSlots | None = None) -> None:
        self._slots = slots
        self._card = card
        self._inside = 0
        self._changed = threading.Condition()

    @property
    def slots(self) -> int | None:
        """Graphs that may run at once; none for no limit."""
        return self._slots

    def resize(self, slots: int) -> None:
        """Let another number through from now on; has no effect on a gate without a limit."""
        with self._changed:
            if self._slots is not None:
                self._slots = slots
                self._changed.notify_all()

    @contextmanager
    def passage(self, check: Check = wait_on) -> Iterator[None]:
        """Wait for a free slot and hold it.

        Args:
            check: called while waiting.
        """
        if self._slots is None:
            yield
            return
        with self._changed:
            while self._inside >= self._slots:
                self._changed.wait(POLL_SECONDS)
                check()
            self._inside += 1
        try:
            if self._card is None:
                yield
            else:
                with self._card.held(self._slots, check):
                    yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify()
