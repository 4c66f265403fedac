"""The jobs folder: one file for each job, in the folder of its status.

Any number of processes may use one jobs folder at once. Each change happens alone, under the folder's lock: the file
is read again, changed, written whole, and moved to another status's folder last. So at any moment each job has one
whole file, and a process that is killed leaves the job as it was before the change or after it; only a job to be
moved may then be left in its old folder with its new content, from where the same command moves it.

What a job that is held goes through in its folder is written without that lock: nobody else changes such a job. So a
process that hangs keeps none from writing down what it has done.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from facefusion.core.access import looking
from facefusion.core.errors import JobBusyError, JobError
from facefusion.core.stop import StopToken
from facefusion.core.wording import shown
from facefusion.jobs import editing
from facefusion.jobs.folder import LOCKS_FOLDER, REMEDY, JobFolder, Place, refusals
from facefusion.jobs.ids import check_id, new_stem, timed_ids
from facefusion.jobs.kept_files import remove_kept
from facefusion.jobs.locks import JobLocks
from facefusion.jobs.model import Job, JobStatus, JobStep, StepStatus
from facefusion.observability.events import EventSink, Fanout, Notice

DIED = "the process that ran it ended before its time"
"""Why a step failed that no process works on any more."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that should be a job."""

    id: str
    """Which the job would have."""
    fault: JobError
    """Why it cannot be read."""


@dataclass(frozen=True, slots=True)
class Scan:
    """What lies in the folder of one status."""

    jobs: tuple[Job, ...]
    """Oldest first."""
    unreadable: tuple[Unreadable, ...]

    @property
    def faults(self) -> tuple[JobError, ...]:
        """Of the files that cannot be read."""
        return tuple(one.fault for one in self.unreadable)


def _now() -> datetime:
    return datetime.now(UTC).astimezone()


class JobStore:
    """The jobs of one folder.

    Wherever it reads a queued job of which a step is started, and nobody holds the job, its process has died: the
    step and the job are then put down as failed.

    Args:
        root: the jobs folder; made with the first job.
        events: told about files that cannot be read, once each, and about jobs whose process died.
        now: the time, with an offset from UTC.
        stop: ends the wait for another process that does not let go of the folder.

    Every method raises an OutputError or a ResourceError where the folder cannot be written to.
    """

    def __init__(
        self,
        root: Path,
        events: EventSink | None = None,
        now: Callable[[], datetime] = _now,
        stop: StopToken | None = None,
    ) -> None:
        self._root = root
        self._events: EventSink = events or Fanout()
        self._now = now
        self._folder = JobFolder(root)
        self._locks = JobLocks(root / LOCKS_FOLDER, stop or StopToken())
        self._told: set[str] = set()

    def find(self, job_id: str) -> Job:
        """The job of that id, also where FaceFusion made another id of it.

        Raises:
            UsageError: no job can have that id.
            JobError: there is none, or its file cannot be read.
        """
        with self._alone_for(job_id):
            return self._find(job_id)

    def list(self, status: JobStatus) -> tuple[Job, ...]:
        """The jobs of one status, oldest first.

        Files that cannot be read are told of and left out, and jobs told of of which several statuses have a file.
        """
        scan = self.scan(status)
        for fault in scan.faults:
            self._tell(str(fault))
        for job in scan.jobs:
            places = self._folder.locate(job.id)
            if len(places) > 1:
                self._tell(str(self._ambiguous(job.name, places)))
        return scan.jobs

    def scan(self, status: JobStatus) -> Scan:
        """The jobs of one status, and what is wrong with the files that cannot be read."""
        if status in (JobStatus.QUEUED, JobStatus.FAILED):
            self._settle_dead()
        jobs, unreadable = [], []
        for place in self._folder.places(status):
            try:
                job = self._folder.read(place)
            except JobError as fault:
                unreadable.append(Unreadable(place.id, fault))
                continue
            if job is not None:
                jobs.append(job)
        return Scan(tuple(sorted(jobs, key=lambda job: (job.queued_since, job.id))), tuple(unreadable))

    def create(self, job_id: str, steps: Iterable[Mapping[str, object]] = ()) -> Job:
        """Make a drafted job, with the steps of which the frozen settings are given.

        Raises:
            UsageError: it cannot have that id.
            JobError: a job has it already.
        """
        stem, drafted = new_stem(job_id), _drafted(steps)
        with self._alone():
            places = self._folder.locate(job_id)
            if places:
                raise JobError(f"there is a job {job_id} already ({places[0].status.value})", "Choose another id.")
            return self._create(stem, drafted, None if stem == job_id else job_id)

    def create_timed(self, prefix: str, steps: Iterable[Mapping[str, object]] = ()) -> Job:
        """Make a drafted job whose id is made of a word and the local time, and of a number where that is taken."""
        drafted = _drafted(steps)
        with self._alone():
            free = (job_id for job_id in timed_ids(prefix, self._now()) if not self._folder.locate(job_id))
            return self._create(next(free), drafted)

    def add_step(self, job_id: str, args: Mapping[str, object]) -> Job:
        """Put a step behind the last.

        Raises:
            UsageError: no job can have that id.
            JobError: there is no such job, or it is complete or runs; as with all changes of steps.
        """
        return self._edit(job_id, lambda job: editing.added(job, args))

    def remix_step(self, job_id: str, index: int, args: Mapping[str, object]) -> Job:
        """Put a step behind the last that works on the result of another: see :func:`editing.remixed`."""
        return self._edit(job_id, lambda job: editing.remixed(job, index, args))

    def insert_step(self, job_id: str, index: int, args: Mapping[str, object]) -> Job:
        """Put a step before another: see :func:`editing.inserted`."""
        return self._edit(job_id, lambda job: editing.inserted(job, index, args))

    def remove_step(self, job_id: str, index: int) -> Job:
        """Take a step away, and the file in which it kept its result: see :func:`editing.removed`."""
        return self._edit(job_id, lambda job: editing.removed(job, index))

    def submit(self, job_id: str) -> Job:
        """Put a drafted job into the queue.

        Raises:
            UsageError: no job can have that id.
            JobError: there is no such job, it is not drafted, or it has no steps.
        """
        with self._alone_for(job_id):
            job = self._find(job_id)
            if job.status is not JobStatus.DRAFTED:
                raise JobError(f"the job {job.name} cannot be submitted: it is {job.status.value}", _next_step(job))
            if not job.steps:
                raise JobError(f"the job {job.name} cannot be submitted: it has no steps", "Add one with job-add-step.")
            steps = tuple(replace(step, status=StepStatus.QUEUED) for step in job.steps)
            return self._move(replace(job, steps=steps, submitted=self._now()), JobStatus.QUEUED)

    def delete(self, job_id: str, status: JobStatus | None = None) -> None:
        """Remove a job's file, also one that cannot be read, and those in which its steps kept results. Outputs stay.

        Args:
            job_id: of the job.
            status: of the file to remove, where several have one.

        Raises:
            UsageError: no job can have that id.
            JobError: there is no such job, several statuses have a file of it, or a process runs it.
        """
        with self._alone_for(job_id):
            place = self._located(job_id, status)
            self._check_not_held(place.id, job_id, "deleted")
            with contextlib.suppress(JobError):  # what cannot be read names no files
                job = self._folder.read(place)
                if job is not None:
                    self._remove_kept(job.steps)
            self._folder.remove(place)
            self._locks.forget(place.id)

    @contextlib.contextmanager
    def hold(self, job_id: str) -> Iterator[Job]:
        """Have the exclusive right to run a job, and get it as it is now, whatever its status.

        Raises:
            UsageError: no job can have that id.
            JobBusyError: another process has the right.
            JobError: there is no such job, or its file cannot be read.
        """
        with self._alone_for(job_id):
            job = self._find(job_id)
            with refusals(self._root / LOCKS_FOLDER):
                lock = self._locks.take(job.id)
        if lock is None:
            raise _busy(job.name, "run")
        try:
            yield job
        finally:
            try:
                with self._alone():
                    self._locks.give_back(job.id, lock)
            finally:
                lock.release()

    def is_held(self, job_id: str) -> bool:
        """Whether a process runs the job.

        Raises:
            UsageError: no job can have that id.
            JobError: there is none.
        """
        with self._alone_for(job_id):
            return self._locks.is_held(self._located(job_id).id)

    def held(self, job_id: str) -> Job:
        """A job that the caller holds, as its file has it now: somebody may have edited that by hand.

        Raises:
            JobError: its file is no longer there, or cannot be read.
        """
        return self._read(job_id)

    def save(self, job: Job) -> Job:
        """Write a job that the caller holds, in the folder of its status, and return it as it was written.

        Raises:
            JobError: its file is no longer there.
        """
        return self._save(job)

    def move(self, job: Job, status: JobStatus) -> Job:
        """Write a job that the caller holds, put it into the folder of another status, and return it.

        Raises:
            JobError: its file is no longer there, or another one is in its place.
        """
        with self._alone():
            return self._move(job, status)

    # What follows is called by who is alone with the folder, or holds the job, where it writes.

    def _create(self, stem: str, steps: tuple[JobStep, ...], typed: str | None = None) -> Job:
        job = Job(stem, JobStatus.DRAFTED, self._now(), None, steps, typed=typed)
        self._folder.write(job)
        return job

    def _edit(self, job_id: str, change: Callable[[Job], Job]) -> Job:
        with self._alone_for(job_id):
            job = self._find(job_id)
            if job.status is JobStatus.COMPLETED:
                raise JobError(f"the job {job.name} cannot be changed: it is completed", "Make another job.")
            self._check_not_held(job.id, job.name, "changed")
            changed = self._save(change(job))
            still = {step.kept for step in changed.steps}
            self._remove_kept([step for step in job.steps if step.kept not in still])
            return changed

    def _remove_kept(self, steps: Iterable[JobStep]) -> None:
        for notice in remove_kept(steps):
            self._tell(notice)

    def _save(self, job: Job) -> Job:
        path = self._folder.path(Place(job.id, job.status))
        if not path.exists():
            raise JobError(
                f"the job {job.name} is no longer {job.status.value}: {path} is not there",
                "Another process moved or deleted it; job-list shows where it is.",
            )
        changed = replace(job, updated=self._now())
        self._folder.write(changed)
        return changed

    def _move(self, job: Job, status: JobStatus) -> Job:
        return self._folder.move(self._save(job), status)

    def _check_not_held(self, stem: str, name: str, what: str) -> None:
        with refusals(self._root / LOCKS_FOLDER):
            if self._locks.is_held(stem):
                raise _busy(name, what)

    def _find(self, job_id: str) -> Job:
        return self._settled(self._read(job_id))

    def _read(self, job_id: str) -> Job:
        place = self._located(job_id)
        job = self._folder.read(place)
        if job is None:
            raise _unknown(job_id)
        return replace(job, typed=job_id) if job.typed is None and place.id != job_id else job

    def _located(self, job_id: str, status: JobStatus | None = None) -> Place:
        places = self._folder.locate(job_id)
        if status is not None:
            places = tuple(place for place in places if place.status is status)
        if not places:
            check_id(job_id)
            raise _unknown(job_id)
        if len(places) > 1:
            raise self._ambiguous(job_id, places)
        return places[0]

    def _ambiguous(self, name: str, places: Iterable[Place]) -> JobError:
        paths = " and ".join(str(self._folder.path(place)) for place in places)
        return JobError(f"the job {name} has several files: {paths}", "Remove or rename all but one of them.")

    def _settled(self, job: Job) -> Job:
        """The job, put down as failed where its process died."""
        if job.status is not JobStatus.QUEUED or not job.has_started_step or self._locks.is_held(job.id):
            return job
        steps = tuple(
            replace(step, status=StepStatus.FAILED, fault=DIED) if step.status is StepStatus.STARTED else step
            for step in job.steps
        )
        self._tell(f"The job {job.name} is put down as failed: {DIED}. job-retry {job.word} goes on with it.")
        return self._move(replace(job, steps=steps), JobStatus.FAILED)

    def _settle_dead(self) -> None:
        suspects = [place for place in self._folder.places(JobStatus.QUEUED) if self._has_started_step(place)]
        if suspects:
            with self._alone():
                for place in suspects:
                    with contextlib.suppress(JobError):  # met again by whoever wants that job
                        job = self._folder.read(place)
                        if job is not None:
                            self._settled(job)

    def _has_started_step(self, place: Place) -> bool:
        try:
            job = self._folder.read(place)
        except JobError:  # told of by who lists the queued ones
            return False
        return job is not None and job.has_started_step

    @contextlib.contextmanager
    def _alone_for(self, job_id: str) -> Iterator[None]:
        """Be alone to work on a job that must be there. Where there is no jobs folder, none is made for it.

        Raises:
            UsageError: no job can have that id.
            JobError: there is no jobs folder, or the system does not let us look.
        """
        with looking(JobError, f"the jobs folder {shown(str(self._root))}", REMEDY):
            is_there = self._root.is_dir()
        if not is_there:
            check_id(job_id)
            raise _unknown(job_id)
        with self._alone():
            yield

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """While this is open, no other process changes a job file."""
        self._folder.make()
        with contextlib.ExitStack() as stack:
            with refusals(self._root / LOCKS_FOLDER):
                (self._root / LOCKS_FOLDER).mkdir(exist_ok=True)
                stack.enter_context(self._locks.alone())
            yield

    def _tell(self, message: str) -> None:
        if message not in self._told:
            self._told.add(message)
            self._events.emit(Notice(message, warning=True))


def _drafted(steps: Iterable[Mapping[str, object]]) -> tuple[JobStep, ...]:
    return tuple(JobStep(StepStatus.DRAFTED, dict(args)) for args in steps)


def _unknown(job_id: str) -> JobError:
    return JobError(f"there is no job {job_id}", "job-list shows those of each status.")


def _busy(job_id: str, what: str) -> JobBusyError:
    return JobBusyError(f"the job {job_id} cannot be {what}: another process runs it", "Wait for it, or stop it.")


def _next_step(job: Job) -> str:
    if job.status is JobStatus.FAILED:
        return f"Run it again with job-retry {job.word}."
    if job.status is JobStatus.QUEUED:
        return f"Run it with job-run {job.word}."
    return "Make another job."
