"""What the commands that run jobs have in common: the work of a step, and what is said of it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from facefusion.cli.command import Context
from facefusion.cli.exit import FAILED, REFUSED, Verdict, announce, conclude, say_too_late
from facefusion.cli.step import process
from facefusion.cli.step_failure import IN_JOB, Wording, change_of_step, kept, outcome, spoken, with_files
from facefusion.config.frozen import thaw
from facefusion.config.option import Scope
from facefusion.config.settings import MiscSettings
from facefusion.config.state import Snapshot
from facefusion.core.errors import FaceFusionError, Stopped
from facefusion.core.report import RunReport
from facefusion.core.stop import StopToken
from facefusion.core.wording import counted
from facefusion.jobs.model import Job, JobStatus
from facefusion.jobs.runner import JobRunner
from facefusion.jobs.store import JobStore
from facefusion.jobs.work import JobListener, StepExecutor, StepResult, StepTask
from facefusion.observability.events import EventSink, StepFinished, StepStarted


def job_runner(
    context: Context, store: JobStore, execute: StepExecutor | None = None, listener: JobListener | None = None
) -> JobRunner:
    """What runs the jobs of a folder as the settings say.

    Args:
        context: of the command.
        store: the folder.
        execute: does the work of a step; where none is given, as its job file has it.
        listener: is told how jobs go on; where none is given, the user is.
    """
    return JobRunner(
        store,
        execute or FrozenSteps(context),
        lambda parts, output, stop: _join(context, parts, output, stop),
        listener or JobVoice(context),
        context.stop,
        halt_on_error=context.state.snapshot.get(MiscSettings).halt_on_error,
    )


def step_settings(base: Snapshot, task: StepTask) -> tuple[Snapshot, tuple[str, ...]]:
    """The settings of a step, and what is to be said of them.

    What is asked for comes from the job file, how it is done from the command that runs the job.

    Raises:
        OptionError: the job file holds a setting that is not allowed.
    """
    schema = base.schema
    own = [spec for spec in schema if spec.about.scope is not Scope.STEP]
    empty = Snapshot(
        schema, {spec.name: base.value(spec) for spec in own}, {spec.name: base.origin(spec.name) for spec in own}
    )
    thawed = thaw(schema, task.step.args, task.place, foreign=task.step.foreign)
    # Everything was frozen; what is as it is by default was, as a rule, not chosen.
    chosen = {name: value for name, value in thawed.values.items() if value != schema[name].default}
    snapshot = empty.with_values(chosen, thawed.origin)
    paths = {"target_path": task.target, "output_path": task.output}
    return snapshot.with_values(paths, thawed.origin), thawed.warnings


class FrozenSteps:
    """Does steps as their job file has them. A failure is said, and told to the runner.

    Args:
        context: of the command.
        wording: how it speaks of its steps.
    """

    def __init__(self, context: Context, wording: Wording = IN_JOB) -> None:
        self._context = context
        self._wording = wording
        self._warned: set[str] = set()

    def __call__(self, task: StepTask) -> StepResult:
        """Do one step.

        Raises:
            Stopped: a stop was requested.
        """
        context = self._context
        name = str(task.output) if task.output is not None else task.place
        context.events.emit(StepStarted(task.index + 1, task.count, name))
        try:
            snapshot, warnings = step_settings(context.state.snapshot, task)
            self._warn(task, warnings)
            done = process(context, snapshot, lambda settings, events: self._make(task, settings, events))
        except Exception as error:  # noqa: BLE001 - whatever it is, the step has failed, and others go on
            end = outcome(error, context.stop)
            self._say(end, task)
            return StepResult(kept(end, task, context.state.snapshot.schema), is_whole=False, is_refused=end.is_refusal)
        finally:
            context.events.emit(StepFinished())
        return StepResult(with_files(task, done.fault) if done.fault else "")

    def _warn(self, task: StepTask, warnings: Sequence[str]) -> None:
        """Say once what is the same for many steps: it names the first."""
        for warning in warnings:
            text = warning.replace(task.place, task.job_id)
            if text not in self._warned:
                self._warned.add(text)
                self._context.terminal.line(warning, "warn")

    def _say(self, end: Verdict, task: StepTask) -> None:
        text = spoken(end, task, self._wording, self._context.state.snapshot.schema)
        files = {"target": task.target, "output": task.output}
        about = {key: str(path) for key, path in files.items() if path is not None}
        announce(end, text, self._context.terminal, {"step": task.index + 1, "steps": task.count, **about})

    def _make(self, task: StepTask, settings: Snapshot, events: EventSink) -> RunReport:
        """Write the file that the step is to write now."""
        settings = settings.with_values({"output_path": task.file}, settings.origin("output_path"))
        return self._context.application.execute(settings, events, self._context.stop)


class JobVoice:
    """Tells the user how jobs go on. Paths of outputs go to the output stream, one a line."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.job = ""
        """The job in work, or the last one, as the user calls it."""

    def job_started(self, job: Job) -> None:
        """Say which job it is."""
        self.job = job.name
        count = len(job.steps)
        fields = {"event": "job_started", "job": job.name, "steps": count}
        self._context.terminal.line(f"job {job.name}: {counted(count, 'step')}", fields=fields)

    def delivered(self, output: Path) -> None:
        """Write the path of an output, unless it came too late."""
        if not self._context.stop.requested:
            self._context.write(f"{output}\n")

    def noticed(self, message: str) -> None:
        """Pass it on."""
        self._context.terminal.line(message, "warn")

    def job_ended(self, job: Job) -> None:
        """Say what the job came to."""
        failed = sum(step.has_failed for step in job.steps)
        fields = {"event": "job_ended", "job": job.name, "status": job.state, "failed_steps": failed}
        level = "info" if job.status is JobStatus.COMPLETED else "error"
        self._context.terminal.line(self.conclusion(job, failed), level, fields=fields)

    def conclusion(self, job: Job, failed: int) -> str:
        """What a job came to, of which so many steps failed."""
        if job.status is JobStatus.COMPLETED:
            return f"Job {job.name} is complete."
        if job.is_rejected:
            return f"the job {job.name} was rejected: the content filter refused {failed} of {len(job.steps)} steps."
        return (
            f"the job {job.name} has failed: {failed} of {len(job.steps)} steps. "
            f"job-retry {job.word} does again what is not complete."
        )

    def failed(self, error: Exception) -> None:
        """Say why."""
        if not isinstance(error, FaceFusionError):
            conclude(error, self._context.terminal, self._context.stop)
            return
        remedy = change_of_step(error.remedy, self._context.state.snapshot.schema)
        self._context.terminal.line(str(FaceFusionError(error.fault, remedy)), "error")


def run_job(context: Context, job_id: str, run: Callable[[str], Job]) -> int:
    """Have a job run and return the exit code; say so where a stop ended it, or came too late.

    Args:
        context: of the command.
        job_id: of the job.
        run: a method of the runner.
    """
    try:
        job = run(job_id)
    except (Stopped, KeyboardInterrupt):
        word = shlex.quote(job_id)
        return say_stopped(context, f"the job {job_id} stays queued, and job-run {word} goes on with it.")
    if context.stop.requested:
        return say_too_late(context.terminal, f"the job {job.name} was {job.state}")
    if job.status is JobStatus.COMPLETED:
        return 0
    return REFUSED if job.is_rejected else FAILED


def say_stopped(context: Context, hint: str) -> int:
    """Say that jobs were stopped, and how to go on; the exit code."""
    context.terminal.close_bar()
    text = f"Stopped by {context.stop.reason or 'Ctrl-C'}; {hint}"
    fields = {"event": "stopped", "kind": Stopped.__name__, "exit_code": Stopped.exit_code}
    context.terminal.line(text, "error", marked=False, fields=fields)
    return Stopped.exit_code


def _join(context: Context, parts: Sequence[Path], output: Path, stop: StopToken) -> tuple[str, ...]:
    """Put videos together; the whole says of itself what its parts do."""
    # They bring PyAV in, which few jobs need here.
    from facefusion.app.joined_marking import marks_of_joined  # noqa: PLC0415
    from facefusion.media.join import join_videos  # noqa: PLC0415

    return join_videos(parts, output, stop, marks_of_joined(context.state.snapshot, parts, context.events))
