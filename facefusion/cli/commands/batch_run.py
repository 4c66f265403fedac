"""Processes many files named by patterns, as one job."""

from __future__ import annotations

import re
from collections.abc import Iterator

from facefusion.app.model_names import with_model_names
from facefusion.cli.command import Context
from facefusion.cli.job_work import FrozenSteps, JobVoice, job_runner, run_job
from facefusion.cli.jobs_folder import open_store
from facefusion.cli.logging_setup import check_apart_from_log
from facefusion.cli.step_failure import Wording
from facefusion.config.frozen import freeze
from facefusion.config.request import MAP_FLAG, check_inputs, placed_output
from facefusion.config.settings import PatternsSettings, ProcessorsSettings
from facefusion.core.errors import UsageError
from facefusion.core.formats import MediaKind, kind_of
from facefusion.core.wording import shown
from facefusion.faces.face_map import FaceMap
from facefusion.faces.settings import FaceSelectorSettings
from facefusion.jobs.batch import OUTPUT_FLAG, Batch, plan_batch
from facefusion.jobs.model import Job, JobStatus, StepStatus
from facefusion.jobs.work import StepTask
from facefusion.observability.events import Notice
from facefusion.processors.registry import find_processor

PREFIX = "batch"


def _advice(task: StepTask, remedy: str) -> str:
    """With the options that name a batch's files."""
    for flag in ("source", "target", "output"):
        remedy = re.sub(rf"--{flag}-paths?\b", f"--{flag}-pattern", remedy)
    return remedy


WORDING = Wording(lambda task: f"step {task.index + 1} of {task.count}", _advice)
"""As steps are counted while they are worked on."""


def execute(context: Context) -> int:
    """Check every step, run them all, and count them; the results' paths go to the output stream, one a line.

    The job stays, so that what failed, or what a stop left undone, can be done later.
    """
    patterns = context.state.snapshot.get(PatternsSettings)
    batch = plan_batch(patterns)
    check_apart_from_log((step.output for step in batch.steps), context.state.snapshot)
    mapping = context.state.snapshot.get(FaceSelectorSettings).mapping
    _check_map(mapping, batch)
    if patterns.source_pattern is None and not mapping:
        _check_sources_unneeded(context)
    for notice in batch.notices:
        context.events.emit(Notice(notice, warning=True))
    store = open_store(context)
    job_id = store.create_timed(PREFIX, _frozen_steps(context, batch)).id
    runner = job_runner(context, store, FrozenSteps(context, WORDING), _BatchVoice(context))
    return run_job(context, job_id, runner.submit_and_run)


def _check_sources_unneeded(context: Context) -> None:
    """Raise where every step would fail for want of a source."""
    for name in context.state.snapshot.get(ProcessorsSettings).processors:
        if find_processor(name).load().needs_sources:
            raise UsageError(
                f"no sources are given, and {name} needs a source face",
                "Name images with --source-pattern, such as 'faces/*.jpg'.",
            )


def _check_map(mapping: FaceMap, batch: Batch) -> None:
    """Raise where a map leaves a source without a place, or its files cannot be read or would be overwritten."""
    if not mapping:
        return
    check_inputs(mapping.files, MAP_FLAG)
    for step in batch.steps:
        if step.source is not None and kind_of(step.source) is not MediaKind.AUDIO:
            raise UsageError(
                f"--face-map says who becomes whom, and nobody becomes the source {shown(str(step.source))}",
                "Leave --source-pattern out, or name sound with it.",
            )
        placed_output(step.target, step.output, mapping.files, OUTPUT_FLAG)


def _frozen_steps(context: Context, batch: Batch) -> Iterator[dict[str, object]]:
    """The settings of each step as the job file keeps them."""
    frozen = freeze(with_model_names(context.state.snapshot, context.events))
    for step in batch.steps:
        sources = [] if step.source is None else [str(step.source)]
        paths = {"source_paths": sources, "target_path": str(step.target), "output_path": str(step.output)}
        yield {**frozen, **paths}


class _BatchVoice(JobVoice):
    """Tells the user how a batch goes on."""

    def conclusion(self, job: Job, failed: int) -> str:
        """How much is done and what is not, and how to do the rest."""
        done = sum(step.status is StepStatus.COMPLETED for step in job.steps)
        count = f"{done} of {len(job.steps)} done"
        if job.status is JobStatus.COMPLETED:
            return f"{count}."
        if job.is_rejected:
            return f"{count}, {failed} refused by the content filter."
        return f"{count}, {failed} failed. job-retry {job.word} does again what is not done."
