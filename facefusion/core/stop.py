"""How a request to stop reaches the work."""

from __future__ import annotations

import threading

from facefusion.core.errors import Stopped


class StopToken:
    """Carries a request to stop from whoever asks (a signal, a cancelled job) to whoever works. Thread-safe."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._reason = ""

    def request(self, reason: str) -> None:
        """Ask the work to stop. ``reason`` is shown to the user; the first one counts."""
        if not self._event.is_set():
            self._reason = reason
            self._event.set()

    @property
    def requested(self) -> bool:
        """Whether a stop was asked for."""
        return self._event.is_set()

    @property
    def reason(self) -> str:
        """Why, in words for the user; empty while nobody asked."""
        return self._reason

    def check(self) -> None:
        """Return at once, or leave the work if a stop was asked for.

        Raises:
            Stopped: a stop was asked for.
        """
        if self._event.is_set():
            raise Stopped(self._reason)

    def wait(self, seconds: float) -> bool:
        """Sleep for ``seconds``, less when a stop is asked for meanwhile; whether one was."""
        return self._event.wait(seconds)
