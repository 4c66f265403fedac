"""Jobs as a table for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from facefusion.core.wording import counted, printable
from facefusion.jobs.model import Job, JobStatus, StepStatus
from facefusion.jobs.outputs import Outputs, waits_for

HEADINGS = ("job", "steps", "created", "updated", "status")
GAP = "  "
FAULTS_SHOWN = 5
"""Of one job; more are counted."""

UNITS = (("day", timedelta(days=1)), ("hour", timedelta(hours=1)), ("minute", timedelta(minutes=1)))


def table(jobs: Sequence[Job], now: datetime) -> str:
    """One row per job, below the headings; below a job that failed, why.

    Args:
        jobs: in the order to show them in.
        now: what times are told from.
    """
    rows = [HEADINGS, *(_row(job, now) for job in jobs)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    lines = [GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    text = [lines[0]]
    for job, line in zip(jobs, lines[1:], strict=True):
        text += [line, *_faults(job)]
    return "\n".join(text) + "\n"


def ago(moment: datetime | None, now: datetime) -> str:
    """How long ago a moment was, in the largest unit of which there is one: ``2 hours ago``."""
    if moment is None:
        return "never"
    passed = now - moment
    for name, unit in UNITS:
        count = passed // unit
        if count >= 1:
            return f"{counted(count, name)} ago"
    return "just now"


def _row(job: Job, now: datetime) -> tuple[str, ...]:
    return (printable(job.name), str(len(job.steps)), ago(job.created, now), ago(job.updated, now), job.state)


def _faults(job: Job) -> Iterator[str]:
    # FaceFusion says of a step that it failed, and not why.
    faults = {index: step.fault for index, step in enumerate(job.steps) if step.fault}
    if job.status is JobStatus.FAILED and any(step.status is StepStatus.QUEUED for step in job.steps):
        faults |= {index: f"it {waits_for(others)}" for index, others in Outputs(job).waiting().items()}
    for index, fault in sorted(faults.items())[:FAULTS_SHOWN]:
        yield f"{GAP}{printable(' '.join(f'step {index}: {fault}'.split()))}"
    if len(faults) > FAULTS_SHOWN:
        yield f"{GAP}and {len(faults) - FAULTS_SHOWN} more steps"
