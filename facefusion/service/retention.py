"""Erases what is no longer to be kept. Faces are personal data: nothing stays because nobody thought of it."""

from __future__ import annotations

import contextlib
import logging
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from facefusion.service.errors import NotFoundError
from facefusion.service.ports import FileStore, JobQueue
from facefusion.service.records import JobRecord
from facefusion.service.uploads import HOUR

logger = logging.getLogger(__name__)

GRACE_SECONDS = 60.0
"""Between the moment after which no job may be made of an asset and its end: a request that saw it goes through.
Likewise between the end of a job and what was made on the way: who still works on it has found out by then."""
SWEEP_SECONDS = 300.0
"""Between two sweeps."""
PAGE = 200
"""Jobs that are asked for at a time."""


@dataclass(frozen=True, slots=True)
class Swept:
    """What was erased."""

    assets: int = 0
    jobs: int = 0
    leftovers: int = 0
    """What processes that ended left unfinished."""


class Retention:
    """Erases assets and results whose time is over, and jobs with them. Several machines may do it at a time.

    Args:
        files: keeps assets and results.
        queue: keeps jobs; one that is not final pins what it uses.
        leftovers: remove what processes that ended left unfinished, and say how much.
        hours: that a job is kept after its end where it has no result.
        clock: seconds since 1970.
    """

    def __init__(
        self,
        files: FileStore,
        queue: JobQueue,
        leftovers: Sequence[Callable[[], int]],
        hours: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._files = files
        self._queue = queue
        self._leftovers = tuple(leftovers)
        self._seconds = hours * HOUR
        self._clock = clock
        self._tidied = -math.inf

    def sweep(self) -> Swept:
        """Erase what is due.

        Raises:
            ServiceUnavailableError: what keeps the jobs cannot be reached.
        """
        assets = 0
        for asset in self._files.assets(None):
            is_over = asset.expires + GRACE_SECONDS < self._clock()
            if is_over and not self._queue.uses(asset.id):
                self._files.erase_asset(asset.id)
                assets += 1
        jobs, settled = 0, self._clock() - GRACE_SECONDS
        for job in [job for job in self._jobs() if job.state.is_final]:
            if self._is_over(job):
                self._files.erase_job(job.id)
                self._queue.erase(job.id)
                jobs += 1
            elif self._tidied <= _end(job) < settled:
                self._tidy(job)
        self._tidied = settled - GRACE_SECONDS  # clocks of machines differ a little
        swept = Swept(assets, jobs, sum(sweep() for sweep in self._leftovers))
        if swept != Swept():
            logger.info("erased %d assets, %d jobs, %d leftovers", swept.assets, swept.jobs, swept.leftovers)
        return swept

    def _is_over(self, job: JobRecord) -> bool:
        end = _end(job) + self._seconds if job.result is None else job.result.expires
        return end < self._clock()

    def _tidy(self, job: JobRecord) -> None:
        """Remove what was made on the way, once after a job's end: its workers may have been killed before they did."""
        if job.result is None:
            self._files.erase_job(job.id)
        else:
            self._files.erase_segments(job.id)

    def _jobs(self) -> Iterator[JobRecord]:
        before: str | None = None
        # Another machine may have erased the job to go on from; those behind it are seen to the next time.
        with contextlib.suppress(NotFoundError):
            while page := self._queue.list(None, limit=PAGE, before=before):
                yield from page
                before = page[-1].id


def _end(job: JobRecord) -> float:
    return job.created if job.ended is None else job.ended
