"""What was costly to make, kept for the next time that the same is wanted."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar, cast

ResultT = TypeVar("ResultT")

MOST_BYTES = 64 << 20
"""Of all results: a few people, each known from a photo or two of ordinary size."""


class Remembered:
    """Results by what they were made from. Nobody changes them. Thread-safe.

    Args:
        most_bytes: that results may take; the least recently used go, and one that takes more is not kept.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._results: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()

    def of(self, key: Hashable, make: Callable[[], ResultT], weigh: Callable[[ResultT], int]) -> ResultT:
        """The result that is known by a key, or one made now.

        Args:
            key: all that it depends on.
            make: makes it. What it raises is raised here, and nothing is kept.
            weigh: tells about how many bytes a result takes.
        """
        with self._lock:
            if key in self._results:
                self._results.move_to_end(key)
                return cast("ResultT", self._results[key][0])
        result = make()
        with self._lock:
            self._results[key] = result, weigh(result)
            self._results.move_to_end(key)
            while sum(weight for _, weight in self._results.values()) > self._most_bytes:
                self._results.popitem(last=False)
        return result

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._results.clear()
