"""Sends files named by patterns to the fleet."""

from __future__ import annotations

from facefusion.cli.command import Context
from facefusion.cli.exit import FAILED
from facefusion.cli.fleet import fleet_url
from facefusion.cli.service_packages import service_packages
from facefusion.config.settings import PatternsSettings
from facefusion.core.errors import Stopped
from facefusion.core.wording import counted
from facefusion.jobs.batch import plan_batch
from facefusion.observability.events import Notice
from facefusion.service.fleet_settings import SubmitSettings
from facefusion.service.records import JobRecord, JobState, Priority
from facefusion.service.settings import ServiceSettings


def execute(context: Context) -> int:
    """Check every step, send them all, and name the jobs on the output stream; or wait and name the results.

    Raises:
        SetupError: a package is missing.
        UsageError: no queue is named, or the patterns do not go together.
        ServiceUnavailableError: the queue cannot be reached.
        Stopped: a stop was requested before all was sent.
    """
    snapshot = context.state.snapshot
    url = fleet_url(snapshot)
    batch = plan_batch(snapshot.get(PatternsSettings))
    for notice in batch.notices:
        context.events.emit(Notice(notice, warning=True))
    with service_packages("submit"):
        from facefusion.service.intake import Order, Submitted, open_intake  # noqa: PLC0415 - see service_packages
    settings = snapshot.get(SubmitSettings)
    intake = open_intake(url, snapshot, Priority(settings.priority))
    sent: list[Submitted] = []
    try:
        for step in batch.steps:
            sources = () if step.source is None else (step.source,)
            sent.append(intake.submit(Order(sources, step.target, step.output), context.stop))
    finally:
        context.terminal.line(f"{counted(len(sent), 'job')} of {len(batch.steps)} sent to the fleet.")
    if not settings.wait:
        for each in sent:
            context.write(f"{each.job_id}\n")
        return 0
    failed = 0
    try:
        for each, job in intake.ended(sent, context.events, context.stop):
            if job is not None and job.state is JobState.COMPLETED:
                intake.deliver(each)
                context.write(f"{each.order.output}\n")
            else:
                failed += 1
                context.terminal.line(f"{each.order.output}: {_reason(job)}", "error")
    except Stopped:
        context.terminal.line(
            "The fleet goes on with what is left; its results stay in the storage for a while.", "warn"
        )
        raise
    return FAILED if failed else 0


def _reason(job: JobRecord | None) -> str:
    if job is None:
        return "the job was erased."
    if job.fault is None:
        return f"the job was {job.state.value}."
    return " ".join(part for part in (f"{job.fault.fault}.", job.fault.remedy) if part)
