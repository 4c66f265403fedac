"""Renews a lease while its unit is worked on, and stops the work where that has become pointless."""

from __future__ import annotations

import logging
import threading
from types import TracebackType
from typing import Self

from facefusion.core.stop import StopToken
from facefusion.observability.events import Event, StageProgress, StageStarted
from facefusion.service.errors import ServiceUnavailableError
from facefusion.service.leases import Lease, Leases, Standing

logger = logging.getLogger(__name__)

RENEW_SECONDS = 3.0
"""Also how long a cancelled job is worked on at the most, before the work is told."""


class LeaseKeeper:
    """Keeps a lease for as long as it is open as a context; an event sink that counts frames.

    Args:
        leases: of the fleet.
        lease: to keep.
        stop: of the work; it is requested when the lease is lost or the job is final.
        counts: whether frames are counted as the job's progress.
        seconds: between two renewals.
    """

    def __init__(
        self, leases: Leases, lease: Lease, stop: StopToken, *, counts: bool, seconds: float = RENEW_SECONDS
    ) -> None:
        self._leases = leases
        self._lease = lease
        self._stop = stop
        self._counts = counts
        self._seconds = seconds
        self._lock = threading.Lock()
        self._frames = 0
        self._is_of_frames = False
        self._standing = Standing.KEPT
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="lease", daemon=True)

    @property
    def standing(self) -> Standing:
        """What became of the lease, as far as is known."""
        return self._standing

    def emit(self, event: Event) -> None:
        """Count frames that are done of the stage at hand."""
        with self._lock:
            if isinstance(event, StageStarted):
                self._is_of_frames = event.unit == "frame"
                self._frames = 0
            elif isinstance(event, StageProgress) and self._is_of_frames:
                self._frames += event.amount

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def renew(self) -> Standing:
        """Renew it now.

        Raises:
            ServiceUnavailableError: nobody can be asked.
        """
        with self._lock:
            frames = self._frames if self._counts else None
        self._standing = self._leases.renew(self._lease, frames)
        if self._standing is not Standing.KEPT:
            why = "a lapsed lease" if self._standing is Standing.LOST else "the end of its job"
            self._stop.request(why)
        return self._standing

    def _keep(self) -> None:
        # While nobody can be asked the work goes on: if nobody else took the unit meanwhile, it still counts.
        while not self._over.wait(self._seconds):
            try:
                if self.renew() is not Standing.KEPT:
                    return
            except ServiceUnavailableError as error:
                logger.warning("the lease of %s of job %s: %s", self._lease.unit.name, self._lease.unit.job, error)
