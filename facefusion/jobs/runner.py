"""Running jobs, one after the other. Two runs of one job exclude each other."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace

from facefusion.core.errors import JobBusyError, JobError
from facefusion.jobs.model import Job, JobStatus, JobStep, StepStatus
from facefusion.jobs.run import JobRun
from facefusion.jobs.work import RunMeans


@dataclass(frozen=True, slots=True)
class Tally:
    """How several jobs ended."""

    count: int
    """Jobs that there were, those that other processes ran among them."""
    failed: int
    """Jobs that failed, or could not be run."""
    rejected: int = 0
    """Those of them of which the content filter refused all that failed."""


class JobRunner(RunMeans):
    """Runs the jobs of one folder, one at a time."""

    def run(self, job_id: str) -> Job:
        """Run a queued job, also its steps that failed before.

        Raises:
            UsageError: no job can have that id.
            JobError: there is no such job, it is not queued, another process runs it, or its file cannot be read.
            Stopped: a stop was requested; the job is queued, and goes on where it was when it is run again.
        """
        with self.store.hold(job_id) as job:
            if job.status is not JobStatus.QUEUED:
                raise JobError(f"the job {job.name} cannot be run: it is {job.status.value}", _remedy(job))
            return self._go_on(job)

    def retry(self, job_id: str) -> Job:
        """Queue a failed job again and run what is not complete of it.

        Raises:
            UsageError: no job can have that id.
            JobError: there is no such job, it has not failed, another process runs it, or its file cannot be read.
            Stopped: a stop was requested; the job is queued.
        """
        with self.store.hold(job_id) as job:
            if job.status is not JobStatus.FAILED:
                raise JobError(f"the job {job.name} cannot be retried: it is {job.status.value}", _remedy(job))
            return self._go_on(job)

    def run_all(self) -> Tally:
        """Run all queued jobs, the oldest first. Those that another process runs are passed over.

        Raises:
            JobError: the jobs folder cannot be read.
            Stopped: a stop was requested; the job in work and those after it are queued.
        """
        return self._all(JobStatus.QUEUED)

    def retry_all(self) -> Tally:
        """Retry all failed jobs, the oldest first. Those that another process runs are passed over.

        Raises:
            JobError: the jobs folder cannot be read.
            Stopped: a stop was requested; the job in work is queued, and those after it have failed as before.
        """
        return self._all(JobStatus.FAILED)

    def submit_and_run(self, job_id: str) -> Job:
        """Queue a drafted job and run it, without letting it go in between.

        A ``job-submit-all`` of another process may have queued it meanwhile, which makes no difference.

        Raises:
            UsageError: no job can have that id.
            JobError: there is no such job, it is not drafted or without steps, or another process runs it.
            Stopped: a stop was requested; the job is queued.
        """
        with self.store.hold(job_id) as job:
            queued = job if job.status is JobStatus.QUEUED else self.store.submit(job_id)
            return JobRun(self, queued).to_its_end()

    def _all(self, status: JobStatus) -> Tally:
        scan = self.store.scan(status)
        failed, rejected = len(scan.faults), 0
        for fault in scan.faults:
            self.listener.failed(fault)
        for job in scan.jobs:
            if failed and self.halt_on_error:
                break
            self.stop.check()
            try:
                ended = self._ended(job, status)
                failed += ended is not None and ended.status is not JobStatus.COMPLETED
                rejected += ended is not None and ended.is_rejected
            except Exception as error:  # noqa: BLE001 - whatever befalls one job is no reason to leave the others
                self.listener.failed(error)
                failed += 1
        return Tally(len(scan.jobs) + len(scan.faults), failed, rejected)

    def _ended(self, listed: Job, status: JobStatus) -> Job | None:
        """Run one of several jobs; none where another process is, or was, quicker."""
        with contextlib.ExitStack() as stack:
            try:
                job = stack.enter_context(self.store.hold(listed.id))
            except JobBusyError:
                self.listener.noticed(f"The job {listed.name} is passed over: another process runs it.")
                return None
            return self._go_on(job) if job.status is status else None

    def _go_on(self, job: Job) -> Job:
        """Run a job that is held, and is queued or has failed."""
        again = replace(job, steps=tuple(_queued_again(step) for step in job.steps))
        if job.status is JobStatus.FAILED:
            job = self.store.move(again, JobStatus.QUEUED)
        elif any(step.has_failed for step in job.steps):
            job = self.store.save(again)
        return JobRun(self, job).to_its_end()


def _queued_again(step: JobStep) -> JobStep:
    status = step.status if step.status is StepStatus.COMPLETED else StepStatus.QUEUED
    return replace(step, status=status, fault="", refused=False)


def _remedy(job: Job) -> str:
    match job.status:
        case JobStatus.DRAFTED:
            return f"Queue it first with job-submit {job.word}."
        case JobStatus.QUEUED:
            return f"Run it with job-run {job.word}."
        case JobStatus.FAILED:
            return f"Run what is left of it with job-retry {job.word}."
        case JobStatus.COMPLETED:
            return "Make another job."
