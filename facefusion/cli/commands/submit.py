"""Sends files named by patterns to the fleet."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from facefusion.cli.command import Context
from facefusion.cli.exit import FAILED, REFUSED
from facefusion.cli.fleet import fleet_url
from facefusion.cli.service_packages import service_packages
from facefusion.config.settings import PatternsSettings
from facefusion.core.errors import FaceFusionError, InputError, Stopped
from facefusion.core.wording import counted
from facefusion.jobs.batch import BatchStep, plan_batch
from facefusion.observability.events import Notice
from facefusion.service.fleet_settings import SubmitSettings
from facefusion.service.records import JobRecord, JobState, Priority

if TYPE_CHECKING:
    from facefusion.service.intake import Intake, Submitted


def execute(context: Context) -> int:
    """Check every step, send them all, and name the jobs on the output stream; or wait and name the results.

    A file that cannot be sent, or is not made, does not keep the others from it.

    Raises:
        SetupError: a package is missing.
        UsageError: no queue is named, or the patterns do not go together.
        ServiceUnavailableError: the queue or the storage cannot be reached.
        Stopped: a stop was requested; what was sent is done all the same.
    """
    snapshot = context.state.snapshot
    settings = snapshot.get(SubmitSettings)
    url = fleet_url(snapshot)
    batch = plan_batch(snapshot.get(PatternsSettings))
    for notice in batch.notices:
        context.events.emit(Notice(notice, warning=True))
    with service_packages("submit"):
        from facefusion.service.intake import open_intake  # noqa: PLC0415 - see service_packages
        from facefusion.service.steps import is_left_unsigned  # noqa: PLC0415
    unsigned = {step.output.suffix.lower() for step in batch.steps if is_left_unsigned(snapshot, step.output)}
    if unsigned:
        reason = "since the fleet hands out one file, and their manifest would be another."
        context.events.emit(Notice(f"Results in {', '.join(sorted(unsigned))} are not signed, {reason}", warning=True))
    intake = open_intake(url, snapshot, Priority(settings.priority), os.environ)
    sent: list[Submitted] = []
    try:
        _send(context, intake, batch.steps, sent)
        made, refused = len(sent), 0
        if settings.wait:
            made, refused = _wait(context, intake, sent)
        else:
            context.write("".join(f"{each.job_id}\n" for each in sent))
    except Stopped:
        context.terminal.line(f"The fleet goes on with what it has of {counted(len(sent), 'job')}.", "warn")
        raise
    if made == len(batch.steps):
        return 0
    return REFUSED if made + refused == len(batch.steps) else FAILED


def _send(context: Context, intake: Intake, steps: Sequence[BatchStep], sent: list[Submitted]) -> None:
    """Send what can be; ``sent`` grows with it."""
    from facefusion.service.intake import Order  # noqa: PLC0415 - imported before, where packages may lack

    for step in steps:
        sources = () if step.source is None else (step.source,)
        try:
            sent.append(intake.submit(Order(sources, step.target, step.output), context.stop))
        except InputError as error:
            context.terminal.line(f"{step}: {error}", "error")
    fields = {"event": "submitted", "jobs": len(sent), "steps": len(steps)}
    context.terminal.line(f"Sent {counted(len(sent), 'job')} to the fleet.", fields=fields)


def _wait(context: Context, intake: Intake, sent: Sequence[Submitted]) -> tuple[int, int]:
    """Put results where they were ordered as they come; how many came, and how many the content filter refused."""
    made = refused = 0
    for each, job in intake.ended(sent, context.events, context.stop):
        try:
            if job is None or job.result is None:
                context.terminal.line(f"{each.order.output}: {_reason(job)}", "error")
                refused += job is not None and job.state is JobState.REJECTED
                continue
            intake.deliver(each, job.result)
        except FaceFusionError as error:
            context.terminal.line(f"{each.order.output}: {error}", "error")
            continue
        context.write(f"{each.order.output}\n")
        made += 1
    return made, refused


def _reason(job: JobRecord | None) -> str:
    if job is None:
        return "the job was erased."
    if job.fault is None:
        return f"the job was {job.state.value}."
    return str(FaceFusionError(job.fault.fault, job.fault.remedy))
