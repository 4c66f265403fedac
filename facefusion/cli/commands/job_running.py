"""The commands that run jobs."""

from __future__ import annotations

import shlex
from collections.abc import Callable

from facefusion.cli.command import Context
from facefusion.cli.exit import FAILED, REFUSED, say_too_late
from facefusion.cli.job_work import JobVoice, job_runner, run_job, say_stopped
from facefusion.cli.jobs_folder import open_store
from facefusion.core.errors import JobError, Stopped
from facefusion.jobs.runner import JobRunner, Tally


def run(context: Context) -> int:
    """Run a queued job; what it made goes to the output stream, one path a line."""
    (job_id,) = context.words
    return run_job(context, job_id, job_runner(context, open_store(context)).run)


def retry(context: Context) -> int:
    """Run what is not complete of a failed job; otherwise as :func:`run`."""
    (job_id,) = context.words
    return run_job(context, job_id, job_runner(context, open_store(context)).retry)


def run_all(context: Context) -> int:
    """Run all queued jobs, the oldest first."""
    nothing = JobError("there is no queued job", "Queue one with job-submit.")
    return _run_all(context, JobRunner.run_all, nothing, lambda job: "job-run-all goes on where it was.")


def retry_all(context: Context) -> int:
    """Run what is not complete of all failed jobs, the oldest first."""
    nothing = JobError("there is no failed job", "Those that are queued are run by job-run-all.")
    return _run_all(context, JobRunner.retry_all, nothing, _retry_hint)


def _retry_hint(job_id: str) -> str:
    if not job_id:
        return "job-retry-all begins again."
    return f"the job {job_id} is queued. job-run {shlex.quote(job_id)} goes on with it, job-retry-all with the others."


def _run_all(
    context: Context, run_jobs: Callable[[JobRunner], Tally], nothing: JobError, hint: Callable[[str], str]
) -> int:
    voice = JobVoice(context)
    try:
        tally = run_jobs(job_runner(context, open_store(context), listener=voice))
    except (Stopped, KeyboardInterrupt):
        return say_stopped(context, hint(voice.job))
    if not tally.count:
        raise nothing
    if context.stop.requested:
        return say_too_late(context.terminal, "all jobs were run")
    if tally.failed and tally.failed == tally.rejected:
        return REFUSED
    return FAILED if tally.failed else 0
