"""What every worker does for the fleet beside its work: sends messages, signs in, listens, sweeps."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from facefusion.service.errors import ServiceUnavailableError
from facefusion.service.leases import Leases

logger = logging.getLogger(__name__)

ROUND_SECONDS = 5.0
"""Between two times that a worker signs in, and that it looks for lapsed leases and the like."""


class Sender(Protocol):
    """Hands messages on. :class:`~facefusion.service.celery_messages.Messenger` is it."""

    def send_due(self) -> int:
        """Send what is due."""


class Ear(Protocol):
    """Hears of messages. :class:`~facefusion.service.listening.Listening` sees to that."""

    def look(self, waiting: int) -> None:
        """Begin to listen anew, if so many messages wait in vain."""


class Tender:
    """Looks after the fleet, a little at a time.

    A fleet keeps its leases over a time without Redis, if it gets the time to renew them: so nothing is swept before
    Redis has answered for the length of a lease.

    Args:
        leases: of the fleet.
        sender: sends messages.
        ear: of this worker.
        breed: of this worker.
        queues: that it listens to.
        clock: seconds that only grow.
    """

    def __init__(
        self,
        leases: Leases,
        sender: Sender,
        ear: Ear,
        breed: str,
        queues: Sequence[str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._leases = leases
        self._sender = sender
        self._ear = ear
        self._breed = breed
        self._queues = queues
        self._clock = clock
        self._is_away = False
        self._sign_in_at = clock()
        self._sweep_at = clock() + leases.seconds

    def look(self) -> None:
        """Do what is to be done now; nothing that goes wrong comes out of it."""
        try:
            self._do_round()
        except ServiceUnavailableError as error:
            if not self._is_away:
                logger.warning("%s", error)
            self._is_away = True
            self._sweep_at = self._clock() + self._leases.seconds
        except Exception:  # whoever calls this has to go on
            logger.exception("looking after the fleet failed")

    def leave(self) -> None:
        """Sign off."""
        try:
            self._leases.leave(self._breed)
        except ServiceUnavailableError as error:
            logger.warning("not signed off: %s", error)

    def _do_round(self) -> None:
        self._sender.send_due()
        if self._is_away:
            self._is_away = False
            logger.warning("Redis is back")
        now = self._clock()
        if now >= self._sign_in_at:
            self._leases.beat(self._breed)
            self._ear.look(self._leases.waiting(self._queues))
            self._sign_in_at = now + ROUND_SECONDS
        if now >= self._sweep_at:
            self._sweep()
            self._sweep_at = now + ROUND_SECONDS

    def _sweep(self) -> None:
        swept = self._leases.sweep(self._queues)
        if swept.lost or swept.resent or swept.replanned:
            logger.warning(
                "queued again: units of lost workers %d, lost messages %d, jobs of another version %d",
                swept.lost,
                swept.resent,
                swept.replanned,
            )
