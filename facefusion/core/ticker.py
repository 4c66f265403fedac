"""Doing something again and again beside all other work."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Ticker:
    """Calls a function from a thread of its own, again and again, until closed.

    Args:
        interval: seconds between calls.
        action: what to call; must not raise.
        name: of the thread.
    """

    def __init__(self, interval: float, action: Callable[[], object], name: str) -> None:
        self._interval = interval
        self._action = action
        self._name = name
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin, if not begun already."""
        with self._lock:
            if self._thread is None and not self._stop.is_set():
                self._thread = threading.Thread(target=self._tick, name=self._name, daemon=True)
                self._thread.start()

    def close(self) -> None:
        """End the thread and wait for it; it does not begin again."""
        with self._lock:
            self._stop.set()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _tick(self) -> None:
        while not self._stop.wait(self._interval):
            self._action()
