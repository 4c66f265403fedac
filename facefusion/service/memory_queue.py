"""A queue of jobs within one process, for one machine without Redis. What waits in it ends with the process."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace

from facefusion.service.errors import (
    FAIR_SHARES,
    MOST_KEPT,
    ConflictError,
    NotFoundError,
    QueueFullError,
    too_many_kept,
)
from facefusion.service.ledger import Ledger, MemoryLedger
from facefusion.service.outbox import MemoryOutbox, Outbox
from facefusion.service.records import Fault, JobEvent, JobRecord, JobState, Priority, Progress, Result

WATCH_SECONDS = 0.1
"""How often those who watch a job look for a change."""

ORDER = (Priority.HIGH, Priority.NORMAL, Priority.LOW)


class MemoryQueue:
    """As :class:`facefusion.service.ports.JobQueue`; with the side of it that does the jobs.

    Args:
        clock: seconds since 1970.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._jobs: dict[str, JobRecord] = {}
        self._keys: dict[tuple[str, str], str] = {}
        self._numbers: dict[str, int] = {}
        self._cancelled: set[str] = set()
        self._ended: Counter[JobState] = Counter()
        self.most_kept = MOST_KEPT
        """Jobs of one owner that are known at a time."""
        self.ledger: Ledger = MemoryLedger()
        """As the port has it."""
        self._calls = MemoryOutbox(clock)
        self.outbox: Outbox = self._calls
        """As the port has it."""

    def submit(self, job: JobRecord, *, idempotency_key: str | None, most_waiting: int) -> JobRecord:
        """As the port has it."""
        with self._changed:
            if idempotency_key is not None:
                earlier = self._jobs.get(self._keys.get((job.owner, idempotency_key), ""))
                if earlier is not None:
                    return same_request(earlier, job)
            if sum(each.owner == job.owner for each in self._jobs.values()) >= self.most_kept:
                raise too_many_kept(self.most_kept)
            few = most_waiting // FAIR_SHARES
            waiting = [each.owner for each in self._jobs.values() if each.state is JobState.QUEUED]
            has_many = 0 < few <= waiting.count(job.owner)
            if len(waiting) >= most_waiting - (few if has_many else 0):
                raise QueueFullError(f"{most_waiting} jobs wait already", "Try again in a minute.", seconds=60)
            self._jobs[job.id] = job
            self._numbers[job.id] = 0
            if idempotency_key is not None:
                self._keys[job.owner, idempotency_key] = job.id
            self._changed.notify_all()
            return job

    def find(self, job_id: str) -> JobRecord | None:
        """As the port has it."""
        with self._changed:
            return self._jobs.get(job_id)

    def list(self, owner: str | None, *, limit: int, before: str | None) -> Sequence[JobRecord]:
        """As the port has it."""
        with self._changed:
            jobs = [job for job in reversed(self._jobs.values()) if owner is None or job.owner == owner]
        if before is not None:
            ids = [job.id for job in jobs]
            if before not in ids:
                raise NotFoundError(f"there is no job {before} to go on from", "List from the newest on.")
            jobs = jobs[ids.index(before) + 1 :]
        return jobs[:limit]

    def cancel(self, job_id: str) -> JobRecord | None:
        """As the port has it."""
        with self._changed:
            job = self._jobs.get(job_id)
            if job is None or job.state.is_final:
                return job
            self._cancelled.add(job_id)
            if job.state is JobState.QUEUED:
                return self._change(job_id, state=JobState.CANCELLED, ended=self._clock())
            return job

    def erase(self, job_id: str) -> None:
        """As the port has it."""
        with self._changed:
            job = self._jobs.get(job_id)
            if job is None or not job.state.is_final:
                return
            del self._jobs[job_id], self._numbers[job_id]
            self._keys = {key: value for key, value in self._keys.items() if value != job_id}
            self._cancelled.discard(job_id)
            self._calls.cross_out(job_id)
            self._changed.notify_all()

    async def events(self, job_id: str, after: str | None) -> AsyncIterator[JobEvent]:
        """As the port has it; changes that follow each other quickly are told as one."""
        job = self.find(job_id)
        seen = self._numbers.get(job_id, 0) if after is None else int(after) if after.isdecimal() else -1
        if after is None and job is not None and job.state.is_final:
            return
        while job is not None:
            number = self._numbers.get(job_id, 0)
            if number > seen:
                seen = number
                yield JobEvent(str(number), job.state, job.progress)
            if job.state.is_final:
                return
            await asyncio.sleep(WATCH_SECONDS)
            job = self.find(job_id)

    def waiting(self) -> Mapping[Priority, int]:
        """As the port has it."""
        with self._changed:
            return self._waiting()

    def kept_bytes(self, owner: str) -> int:
        """As the port has it."""
        with self._changed:
            results = (job.result for job in self._jobs.values() if job.owner == owner)
            return sum(result.size for result in results if result is not None)

    def uses(self, asset_id: str) -> bool:
        """As the port has it."""
        with self._changed:
            return any(asset_id in job.assets and not job.state.is_final for job in self._jobs.values())

    def oldest_waiting(self) -> float | None:
        """When the job that has waited longest was queued; none where none waits."""
        with self._changed:
            waiting = (job.created for job in self._jobs.values() if job.state is JobState.QUEUED)
            return min(waiting, default=None)

    def workers(self) -> int:
        """As the port has it: the one that this process does jobs with."""
        return 1

    def ended(self) -> Mapping[JobState, int]:
        """As the port has it."""
        with self._changed:
            return dict(self._ended)

    def retries(self) -> int:
        """As the port has it: none, as jobs are not divided."""
        return 0

    def take(self, seconds: float) -> JobRecord | None:
        """The job to do next, which is running from now on.

        Args:
            seconds: to wait for one; none is given back where none came.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._next() is not None, seconds)
            job = self._next()
            return None if job is None else self._change(job.id, state=JobState.RUNNING, started=self._clock())

    def is_cancelled(self, job_id: str) -> bool:
        """Whether somebody asked for a job not to go on."""
        return job_id in self._cancelled

    def advance(self, job_id: str, progress: Progress) -> None:
        """Note how far a job is."""
        with self._changed:
            if job_id in self._jobs:
                self._change(job_id, progress=progress)

    def finish(
        self,
        job_id: str,
        state: JobState,
        *,
        result: Result | None = None,
        fault: Fault | None = None,
        report: Mapping[str, object] | None = None,
    ) -> None:
        """Note how a job ended."""
        with self._changed:
            if job_id in self._jobs:
                self._change(job_id, state=state, ended=self._clock(), result=result, fault=fault, report=report)

    def _next(self) -> JobRecord | None:
        queued = [job for job in self._jobs.values() if job.state is JobState.QUEUED]
        return min(queued, key=lambda job: ORDER.index(job.priority), default=None)

    def _waiting(self) -> dict[Priority, int]:
        counts = Counter(job.priority for job in self._jobs.values() if job.state is JobState.QUEUED)
        return {priority: counts[priority] for priority in ORDER}

    def _change(self, job_id: str, **changes: object) -> JobRecord:
        self._jobs[job_id] = job = replace(self._jobs[job_id], **changes)  # type: ignore[arg-type]
        self._numbers[job_id] += 1
        if "state" in changes and job.state.is_final:
            self._ended[job.state] += 1
            if job.callback is not None:
                self._calls.put(job)
        self._changed.notify_all()
        return job


def same_request(earlier: JobRecord, job: JobRecord) -> JobRecord:
    """The job that was queued under a key before, where the same is asked for again.

    Raises:
        ConflictError: it is not the same.
    """
    asked, before = (
        (one.step, one.sources, one.target, one.extension, one.priority, one.callback) for one in (job, earlier)
    )
    if asked != before:
        raise ConflictError(
            "the idempotency key was used for another job", "Use a new key for each job, and the same to repeat one."
        )
    return earlier
