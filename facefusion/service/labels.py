"""Labels of metrics. They have few values, since each is a series that Prometheus keeps for weeks."""

from __future__ import annotations

import threading

OTHER = "other"
"""In place of values beyond the limit."""


class BoundedLabel:
    """Lets the first so many values through, and calls all others :data:`OTHER`. Thread-safe.

    Args:
        most: values let through.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._seen: set[str] = set()
        self._lock = threading.Lock()

    def __call__(self, value: str) -> str:
        """The value to use."""
        with self._lock:
            if value not in self._seen and len(self._seen) >= self._most:
                return OTHER
            self._seen.add(value)
            return value
