"""The commands that run jobs."""

from __future__ import annotations

from collections.abc import Callable

from facefusion.cli.command import Context
from facefusion.cli.job_work import go_on_hint, job_runner, open_store
from facefusion.core.errors import JobError, Stopped
from facefusion.jobs.model import Job, JobStatus
from facefusion.jobs.runner import Tally

FAILED = 1
"""Exit code where something failed, or there was nothing to do."""


def run(context: Context) -> int:
    """Run a queued job; what it made goes to the output stream, one path a line."""
    (job_id,) = context.words
    return _one(context, job_id, job_runner(context, open_store(context)).run)


def retry(context: Context) -> int:
    """Run what is not complete of a failed job; otherwise as :func:`run`."""
    (job_id,) = context.words
    return _one(context, job_id, job_runner(context, open_store(context)).retry)


def run_all(context: Context) -> int:
    """Run all queued jobs, the oldest first."""
    tally = job_runner(context, open_store(context)).run_all()
    return _all(context, tally, JobError("there is no queued job", "Queue one with job-submit."))


def retry_all(context: Context) -> int:
    """Run what is not complete of all failed jobs, the oldest first."""
    tally = job_runner(context, open_store(context)).retry_all()
    return _all(context, tally, JobError("there is no failed job", "Those that are queued are run by job-run-all."))


def _one(context: Context, job_id: str, run_job: Callable[[str], Job]) -> int:
    try:
        job = run_job(job_id)
    except (Stopped, KeyboardInterrupt):
        context.terminal.close_bar()
        context.terminal.line(go_on_hint(job_id))
        raise
    return _code(context, is_complete=job.status is JobStatus.COMPLETED)


def _all(context: Context, tally: Tally, nothing: JobError) -> int:
    if not tally.count:
        raise nothing
    return _code(context, is_complete=not tally.failed)


def _code(context: Context, *, is_complete: bool) -> int:
    """A stop that came too late never reports success."""
    if context.stop.requested:
        return Stopped.exit_code
    return 0 if is_complete else FAILED
