"""Sees that a worker hears of messages.

Celery may stop listening without saying so. Where Redis goes away while a task ends, the task cannot be acknowledged.
It counts as one in work from then on, and one is what a worker may have: so nothing more is asked for, and as nothing
is asked for, nobody notices that the connection is gone.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

logger = logging.getLogger(__name__)

ROUNDS = 2
"""How often in a row messages have to be found waiting while the worker is idle. One may just be on its way."""


class Listening:
    """Whether this worker listens. Thread-safe.

    Args:
        again: has it begin to listen anew.
    """

    def __init__(self, again: Callable[[], None]) -> None:
        self._again = again
        self._lock = threading.Lock()
        self._is_busy = False
        self._vain = 0

    @contextmanager
    def heard(self) -> Iterator[None]:
        """While what a message asked for is done."""
        self._note(is_busy=True)
        try:
            yield
        finally:
            self._note(is_busy=False)

    def look(self, waiting: int) -> None:
        """Begin anew where messages wait for an idle worker.

        Args:
            waiting: how many do in the queues that it listens to.
        """
        with self._lock:
            self._vain = self._vain + 1 if waiting and not self._is_busy else 0
            if self._vain < ROUNDS:
                return
            self._vain = 0
        logger.warning("%d messages wait and none of them comes, so the connection to Redis is made anew", waiting)
        self._again()

    def _note(self, *, is_busy: bool) -> None:
        with self._lock:
            self._is_busy = is_busy
            self._vain = 0


def lose_connection() -> None:
    """Have Celery's loop, which calls this, connect anew.

    Raises:
        ConnectionResetError: always.
    """
    raise ConnectionResetError("messages wait, and none of them comes")
