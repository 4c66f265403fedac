"""How a request to stop reaches the work."""

from __future__ import annotations

import time

from facefusion.core.errors import Stopped

POLL_SECONDS = 0.1
"""How often whoever waits looks whether a stop was asked for."""


class StopToken:
    """Carries a request to stop from whoever asks (a signal, a cancelled job) to whoever works.

    Thread-safe, and safe to use in a signal handler: it takes no lock, since a handler may interrupt the very thread
    that holds it.
    """

    def __init__(self) -> None:
        self._requested = False
        self._reason = ""

    def request(self, reason: str) -> None:
        """Ask the work to stop. ``reason`` is shown to the user; the first one counts."""
        if not self._requested:
            self._reason = reason
            self._requested = True

    @property
    def requested(self) -> bool:
        """Whether a stop was asked for."""
        return self._requested

    @property
    def reason(self) -> str:
        """Why, in words for the user; empty while nobody asked."""
        return self._reason

    def check(self) -> None:
        """Return at once, or leave the work if a stop was asked for.

        Raises:
            Stopped: a stop was asked for.
        """
        if self._requested:
            raise Stopped(self._reason)

    def sleep(self, seconds: float) -> None:
        """Wait, no longer than until a stop is asked for.

        Raises:
            Stopped: a stop was asked for.
        """
        end = time.monotonic() + seconds
        self.check()
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(left, POLL_SECONDS))
            self.check()
