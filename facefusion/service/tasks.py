"""What a worker does with a unit: it takes it, does it, and commits what came of it."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from facefusion.core.errors import (
    DiskFullError,
    FaceFusionError,
    ResourceError,
    Stopped,
    VideoMemoryError,
)
from facefusion.core.stop import StopToken
from facefusion.observability.events import Event, EventSink, Fanout
from facefusion.service.endings import result_of
from facefusion.service.errors import ServiceUnavailableError
from facefusion.service.failures import Failures
from facefusion.service.lease_keeper import LeaseKeeper
from facefusion.service.leases import JOIN, PLAN, ROOM_SECONDS, Lease, Leases, Standing, Unit
from facefusion.service.logs import working_on_job
from facefusion.service.ports import FileStore, Segments
from facefusion.service.pulse import Patience, Pulse, Watchdog
from facefusion.service.records import JobRecord, JobState
from facefusion.service.redis_queue import RedisQueue
from facefusion.service.rendering import JobFiles, Renderer
from facefusion.service.room import Room
from facefusion.service.scratch import scratch

logger = logging.getLogger(__name__)

INSIST_SECONDS = 60.0
"""How long a result is held on to that cannot be committed since Redis is away."""


AnswerT = TypeVar("AnswerT")


class Voice(Protocol):
    """Is told what comes of units."""

    def emit(self, event: Event) -> None:
        """See :class:`~facefusion.observability.events.EventSink`."""

    def segment_done(self) -> None:
        """A segment was committed."""

    def job_ended(self, job: JobRecord) -> None:
        """A job came to its end here."""


@dataclass(frozen=True, slots=True)
class DeskTerms:
    """How units are done."""

    patience: Patience
    """With work that shows no sign of life."""
    root: Path
    """Of this machine's temporary files."""
    retention_seconds: float
    """How long results are kept."""
    private: tuple[Path, ...] = ()
    """Folders of this machine that no client is told of."""


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A unit in work."""

    lease: Lease
    job: JobRecord
    files: JobFiles
    segments: Segments
    events: EventSink
    stop: StopToken
    keeper: LeaseKeeper


class UnitDesk:
    """Does units, one at a time. Whatever befalls one, the next can be done.

    Args:
        queue: of jobs.
        leases: of the fleet.
        files: that all workers share.
        renderer: makes the pictures.
        voice: is told.
        room: of this machine, for a unit at the moment.
        terms: of the work.
    """

    def __init__(
        self,
        queue: RedisQueue,
        leases: Leases,
        files: FileStore,
        renderer: Renderer,
        voice: Voice,
        room: Room,
        terms: DeskTerms,
    ) -> None:
        self._queue = queue
        self._leases = leases
        self._files = files
        self._renderer = renderer
        self._voice = voice
        self._room = room
        self._failures = Failures(leases, renderer, room, self._insist, terms.private)
        self._patience = terms.patience
        self._root = terms.root
        self._watch = Watchdog()
        self._longest = terms.patience.preparing + terms.patience.grace
        self._retention = terms.retention_seconds
        self._private = terms.private

    def do(self, unit: Unit) -> None:
        """Do a unit that a message named, unless it is done or somebody does it."""
        number = None if unit.name in (PLAN, JOIN) else int(unit.name)
        with working_on_job(unit.job, number), self._watched():
            try:
                self._take(unit)
            except ServiceUnavailableError as error:
                # The lease lapses, and the unit is queued again.
                logger.warning("%s of job %s is left: %s", unit.name, unit.job, error)

    def _take(self, unit: Unit) -> None:
        if shortage := self._room.shortage():
            logger.warning("%s of job %s is left to others at the moment: %s", unit.name, unit.job, shortage)
            self._leases.postpone(unit, ROOM_SECONDS)
            return
        lease = self._leases.acquire(unit)
        job = None if lease is None else self._queue.find(unit.job)
        if lease is None or job is None:
            logger.debug("%s of job %s is done, or somebody's", unit.name, unit.job)
            return
        stop = StopToken()
        with self._kept(lease, stop) as keeper, contextlib.ExitStack() as stack:
            try:
                folder = stack.enter_context(scratch(self._root))
                segments = self._files.segments(job.id, folder)
                files = self._fetch(job, folder, segments, lease)
            except Exception as error:  # noqa: BLE001 - whatever it is, the worker goes on
                counted = self._failed(lease, job, error, keeper, None)
            else:
                events = Fanout((keeper, self._voice))
                counted = self._work(_Attempt(lease, job, files, segments, events, stop, keeper))
        self._watch.arm(self._longest)
        self._tidy(unit.job, ended_here=counted)

    @contextlib.contextmanager
    def _watched(self) -> Iterator[None]:
        """Whatever hangs in between ends the process; while there is a lease its keeper says when."""
        self._watch.arm(self._longest)
        try:
            yield
        finally:
            self._watch.disarm()

    def _kept(self, lease: Lease, stop: StopToken) -> LeaseKeeper:
        pulse = Pulse(self._patience, self._renderer.activity)
        counts = lease.unit.name not in (PLAN, JOIN)
        grace = self._patience.grace
        return LeaseKeeper(self._leases, lease, stop, pulse, self._watch, counts=counts, grace=grace)

    def _fetch(self, job: JobRecord, folder: Path, segments: Segments, lease: Lease) -> JobFiles:
        return JobFiles(
            sources=tuple(self._files.fetch(asset, folder) for asset in job.sources),
            target=self._files.fetch(job.target, folder),
            segments=segments.folder,
            output=segments.folder / f"joined-{lease.token}{job.extension}",
            private=self._private,
        )

    def _work(self, attempt: _Attempt) -> bool:
        """Do the unit, and commit what came of it, good or bad; whether that counts."""
        unit = attempt.lease.unit
        try:
            try:
                is_kept = self._make(attempt)
            except (ResourceError, MemoryError) as error:
                if self._is_beyond_us(error):
                    raise
                # Once more, with all the room that can be had here.
                logger.warning("%s of job %s is tried again with nothing else loaded: %s", unit.name, unit.job, error)
                self._renderer.release()
                is_kept = self._make(attempt)
        except (Exception, Stopped) as error:  # noqa: BLE001 - whatever it is, the worker goes on
            return self._failed(attempt.lease, attempt.job, error, attempt.keeper, attempt.files)
        self._room.miss("")
        if not is_kept:
            logger.warning("%s of job %s was somebody else's by then, and is dropped", unit.name, unit.job)
        return is_kept

    def _is_beyond_us(self, error: Exception) -> bool:
        """Whether nothing that this worker could let go would make room.

        What it holds of a card was counted as free; but it may move to another card once it holds nothing. That is
        tried once, else a unit that comes again and again would have the models of all others loaded anew.
        """
        is_taken = isinstance(error, VideoMemoryError) and error.may_pass and self._room.missed != ""
        return is_taken or isinstance(error, DiskFullError)

    def _make(self, attempt: _Attempt) -> bool:
        """Do the unit and commit it; whether it counts."""
        if attempt.lease.unit.name == PLAN:
            return self._plan(attempt)
        work = self._leases.work(attempt.job.id)
        if work is None:
            return False
        if attempt.lease.unit.name == JOIN:
            attempt.segments.bring()
            manifests = [work.manifests[number] for number in sorted(work.manifests)]
            report = self._renderer.join(attempt.job, attempt.files, work.plan, manifests, attempt.events, attempt.stop)
            return self._deliver(attempt, report)
        manifest = self._renderer.render(
            attempt.job,
            attempt.files,
            work.plan,
            int(attempt.lease.unit.name),
            attempt.lease.token,
            attempt.events,
            attempt.stop,
        )
        attempt.segments.hand_in()
        is_kept = self._insist(lambda: self._leases.commit_segment(attempt.lease, manifest))
        if is_kept:
            self._voice.segment_done()
        return is_kept

    def _plan(self, attempt: _Attempt) -> bool:
        plan = self._renderer.plan(attempt.job, attempt.files, attempt.events, attempt.stop)
        breed = self._renderer.breed
        return self._insist(lambda: self._leases.commit_plan(attempt.lease, plan.document, plan.frames, breed))

    def _deliver(self, attempt: _Attempt, report: Mapping[str, object]) -> bool:
        """Put the joined result into its place, and end the job."""
        job, output = attempt.job, attempt.files.output
        result = result_of(job, attempt.files, time.time() + self._retention)
        # Somebody else may have delivered it while this machine stood still.
        if self._insist(attempt.keeper.renew) is not Standing.KEPT:
            return False
        self._files.put_result(job.id, output, result)
        return self._insist(lambda: self._leases.complete(attempt.lease, result, report))

    def _failed(
        self,
        lease: Lease,
        job: JobRecord,
        error: Exception | Stopped,
        keeper: LeaseKeeper,
        files: JobFiles | None,
    ) -> bool:
        """Commit that a unit was not done; whether that counts."""
        unit = lease.unit
        if keeper.standing is not Standing.KEPT:
            logger.info("%s of job %s is left: %s", unit.name, unit.job, error)
            return False
        if isinstance(error, Stopped):
            return self._leases.hand_back(lease)
        if not isinstance(error, FaceFusionError):
            logger.error("%s of job %s: a defect", unit.name, unit.job, exc_info=error)
        return self._failures.commit(lease, job, error, files)

    def _insist(self, ask: Callable[[], AnswerT]) -> AnswerT:
        """Ask Redis until it answers, for a while."""
        end = time.monotonic() + INSIST_SECONDS
        while True:
            try:
                return ask()
            except ServiceUnavailableError:
                if time.monotonic() > end:
                    raise
                time.sleep(1)

    def _tidy(self, job_id: str, *, ended_here: bool) -> None:
        """Remove what no further unit of a job needs, where it is at its end."""
        job = self._queue.find(job_id)
        if job is not None and not job.state.is_final:
            return
        if job is not None and ended_here:
            self._voice.job_ended(job)
        # Last, since the storage may be away; then whoever sweeps does it.
        if job is None or job.state is not JobState.COMPLETED:
            self._files.erase_job(job_id)
        else:
            self._files.erase_segments(job_id)
