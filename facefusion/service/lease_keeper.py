"""Renews a lease while its unit is worked on, and stops the work where that has become pointless or hangs."""

from __future__ import annotations

import logging
import threading
from types import TracebackType
from typing import Protocol, Self

from facefusion.core.stop import StopToken
from facefusion.observability.events import Event, StageProgress, StageStarted
from facefusion.service.errors import ServiceUnavailableError
from facefusion.service.leases import Lease, Leases, Standing
from facefusion.service.pulse import Pulse

logger = logging.getLogger(__name__)

RENEW_SECONDS = 3.0
"""Also how long a cancelled job is worked on at the most, before the work is told."""


class Watch(Protocol):
    """Ends the process when its time is up. :class:`~facefusion.service.pulse.Watchdog` is it."""

    def arm(self, seconds: float) -> None:
        """End the process in so many seconds, whatever was said before."""


class LeaseKeeper:
    """Keeps a lease for as long as it is open as a context and its work gets on; an event sink that counts frames.

    Work that shows no sign of life any more loses its lease: it is not renewed, and so somebody else's when it lapses.
    Such work is stopped, and where it does not hear of that, the process ends.

    Args:
        leases: of the fleet.
        lease: to keep.
        stop: of the work; it is requested when the lease is lost or the job is final.
        pulse: of the work.
        watch: on the process.
        counts: whether frames are counted as the job's progress.
        seconds: between two renewals.
        grace: seconds from the stop of work that hangs to the end of the process.
    """

    def __init__(
        self,
        leases: Leases,
        lease: Lease,
        stop: StopToken,
        pulse: Pulse,
        watch: Watch,
        *,
        counts: bool,
        seconds: float = RENEW_SECONDS,
        grace: float = 30.0,
    ) -> None:
        self._leases = leases
        self._lease = lease
        self._stop = stop
        self._pulse = pulse
        self._watch = watch
        self._grace = grace
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
        self._pulse.emit(event)
        with self._lock:
            if isinstance(event, StageStarted):
                self._is_of_frames = event.unit == "frame"
                self._frames = 0
            elif isinstance(event, StageProgress) and self._is_of_frames:
                self._frames += event.amount

    def __enter__(self) -> Self:
        self._watch.arm(self._pulse.left() + self._grace)
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
            left = self._pulse.left()
            if not left:
                self._let_go()
                return
            self._watch.arm(left + self._grace)
            try:
                if self.renew() is not Standing.KEPT:
                    return
            except ServiceUnavailableError as error:
                logger.warning("the lease of %s of job %s: %s", self._lease.unit.name, self._lease.unit.job, error)

    def _let_go(self) -> None:
        """Renew it no more; the watch on the process is not put off any more either."""
        unit = self._lease.unit
        logger.error(
            "%s of job %s hangs: nothing was done for too long. Its lease is let go, and this process ends in %g "
            "seconds unless the work does",
            unit.name,
            unit.job,
            self._grace,
        )
        self._standing = Standing.LOST
        self._stop.request("its worker, where it seemed to hang")
