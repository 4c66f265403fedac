"""Connections that keep a server waiting.

The web server closes a connection that is idle between two requests, but waits without end for the rest of a request's
head: whoever opens enough of them takes all that there are (known as Slowloris).
"""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 20.0
"""In which the head of a request has to be there, and the first one after a connection was opened."""


class PatientProtocol(H11Protocol):
    """Closes a connection on which no request begins in time."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """As the base has it."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """As the base has it."""
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._wait()
        else:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """As the base has it."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self._late is None:
            self._late = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _stop_waiting(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _give_up(self) -> None:
        self._late = None
        if self.conn.their_state is h11.IDLE:
            self.transport.close()
