"""Erasing what is over in a fleet: one of its workers does so every few minutes, whether there is an API or not."""

from __future__ import annotations

import logging
from collections.abc import Callable

from facefusion.core.errors import FaceFusionError
from facefusion.service.redis_link import RedisLink
from facefusion.service.retention import SWEEP_SECONDS

logger = logging.getLogger(__name__)

TURN = "sweeping"
"""Name of the key whose holder sweeps; nobody gives it back, it lapses."""


class FleetSweep:
    """Sweeps where nobody of the fleet did of late. API servers sweep besides, each for itself.

    Args:
        link: to Redis, where workers take turns.
        sweep: erases.
    """

    def __init__(self, link: RedisLink, sweep: Callable[[], object]) -> None:
        self._link = link
        self._sweep = sweep

    def look(self) -> None:
        """Sweep, where it is to be done now; nothing that goes wrong comes out of it."""
        try:
            if self._link.call("SET", self._link.key(TURN), "1", "NX", "EX", round(SWEEP_SECONDS)):
                self._sweep()
        except FaceFusionError as error:
            logger.warning("what has expired could not be erased: %s", error)
        except Exception:  # the next time may go better, and nothing may be kept for ever
            logger.exception("what has expired could not be erased")
