"""The commands that list, make, change, submit and delete jobs, without running any."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime

from facefusion.app.model_names import with_model_names
from facefusion.cli.command import Context
from facefusion.cli.exit import FAILED, say_too_late
from facefusion.cli.jobs_folder import open_store
from facefusion.config.frozen import freeze
from facefusion.config.request import check_extension, required_output, required_target
from facefusion.config.settings import MiscSettings, PathsSettings
from facefusion.core.access import looking
from facefusion.core.errors import FaceFusionError, OutputError
from facefusion.core.wording import shown
from facefusion.jobs.model import Job, JobStatus
from facefusion.jobs.store import JobStore, Unreadable
from facefusion.jobs.table import table


def list_jobs(context: Context) -> int:
    """Write the jobs of one status to the output stream; 1 where there are none."""
    (status,) = context.words
    jobs = open_store(context).list(JobStatus(status))
    if not jobs:
        return FAILED
    context.write(table(jobs, datetime.now(UTC)))
    return 0


def create(context: Context) -> int:
    """Make a job without steps."""
    (job_id,) = context.words
    open_store(context).create(job_id)
    return _done(context, f"Job {job_id} is made.")


def submit(context: Context) -> int:
    """Put a drafted job into the queue."""
    (job_id,) = context.words
    open_store(context).submit(job_id)
    return _done(context, _submitted(job_id))


def submit_all(context: Context) -> int:
    """Put every drafted job into the queue; 1 where there are none, or one cannot be."""
    store = open_store(context)

    def submit_one(found: Job | Unreadable, status: JobStatus) -> None:
        if isinstance(found, Unreadable):
            raise found.fault
        store.submit(found.id)
        context.terminal.line(_submitted(found.name))

    return _each(context, store, (JobStatus.DRAFTED,), submit_one)


def delete(context: Context) -> int:
    """Remove a job's file, and those in which its steps kept results; outputs stay."""
    (job_id,) = context.words
    open_store(context).delete(job_id)
    return _done(context, _deleted(job_id))


def delete_all(context: Context) -> int:
    """Remove all jobs as :func:`delete` does, also what cannot be read; 1 where there are none, or one cannot be."""
    store = open_store(context)

    def delete_one(found: Job | Unreadable, status: JobStatus) -> None:
        store.delete(found.id, status)
        if isinstance(found, Unreadable):
            context.terminal.line(f"Job {found.id} is deleted, though {found.fault.fault}.", "warn")
        else:
            context.terminal.line(_deleted(found.name))

    return _each(context, store, JobStatus, delete_one)


def add_step(context: Context) -> int:
    """Put a step behind the last."""
    (job_id,) = context.words
    args = _frozen_step(context, has_target=True)
    job = open_store(context).add_step(job_id, args)
    return _done(context, f"Job {job_id}: step {len(job.steps) - 1} is added.")


def remix_step(context: Context) -> int:
    """Put a step behind the last that works on the result of another."""
    job_id, index = context.words
    args = _frozen_step(context, has_target=False)
    job = open_store(context).remix_step(job_id, int(index), args)
    target = job.steps[-1].args["target_path"]
    return _done(context, f"Job {job_id}: step {len(job.steps) - 1} is added, which works on {target}.")


def insert_step(context: Context) -> int:
    """Put a step before another."""
    job_id, index = context.words
    args = _frozen_step(context, has_target=True)
    open_store(context).insert_step(job_id, int(index), args)
    return _done(context, f"Job {job_id}: a step is put before step {index}.")


def remove_step(context: Context) -> int:
    """Take a step out of a job."""
    job_id, index = context.words
    open_store(context).remove_step(job_id, int(index))
    return _done(context, f"Job {job_id}: step {index} is removed.")


def _frozen_step(context: Context, *, has_target: bool) -> dict[str, object]:
    """The settings of a new step as the job file keeps them.

    Files are looked for when the step runs, since another step may have to make them; their names are checked now.

    Args:
        context: of the command.
        has_target: whether the user names the target.

    Raises:
        UsageError: the target or the output is not given, or the output's extension names no format.
        InputError: the target is sound.
        OutputError: the system does not let us look at the output, which no step will change.
    """
    paths = context.state.snapshot.get(PathsSettings)
    output = required_output(paths)
    with looking(OutputError, f"output {shown(str(output))}", "Check the path given with --output-path."):
        is_folder = output.is_dir()
    if has_target:
        target = required_target(paths)
        if not is_folder:
            check_extension(target, output)
    return freeze(with_model_names(context.state.snapshot, context.events))


def _each(
    context: Context,
    store: JobStore,
    statuses: Iterable[JobStatus],
    act: Callable[[Job | Unreadable, JobStatus], None],
) -> int:
    """Do something to every job of some statuses, and say of each that cannot be why.

    Returns:
        0 where all went well; 1 where there are none, or one failed, after which --halt-on-error ends it.
    """
    halt = context.state.snapshot.get(MiscSettings).halt_on_error
    statuses = tuple(statuses)
    done, failed = 0, 0
    for one, status in _scanned(store, statuses):
        context.stop.check()
        try:
            act(one, status)
            done += 1
        except FaceFusionError as error:
            context.terminal.line(str(error), "error")
            failed += 1
            if halt:
                break
    if not done and not failed:
        kind = f"{statuses[0].value} jobs" if len(statuses) == 1 else "jobs"
        folder = context.state.snapshot.get(PathsSettings).jobs_path
        context.terminal.line(f"there are no {kind} in {folder}. Make one with job-create.", "error")
    return 0 if done and not failed else FAILED


def _scanned(store: JobStore, statuses: Iterable[JobStatus]) -> Iterator[tuple[Job | Unreadable, JobStatus]]:
    """Each job, also those whose file cannot be read."""
    for status in statuses:
        scan = store.scan(status)
        yield from ((one, status) for one in scan.unreadable)
        yield from ((one, status) for one in scan.jobs)


def _submitted(job_id: str) -> str:
    return f"Job {job_id} is queued."


def _deleted(job_id: str) -> str:
    return f"Job {job_id} is deleted."


def _done(context: Context, sentence: str) -> int:
    context.terminal.line(sentence)
    return say_too_late(context.terminal, "all was done") if context.stop.requested else 0
