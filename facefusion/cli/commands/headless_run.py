"""Processes one image or video as a job of one step, which stays and can be retried."""

from __future__ import annotations

from facefusion.app.model_names import with_model_names
from facefusion.cli.command import Context
from facefusion.cli.exit import conclude
from facefusion.cli.job_work import job_runner
from facefusion.cli.jobs_folder import open_store
from facefusion.cli.step import finish, held_fault, process
from facefusion.cli.step_failure import kept, outcome, with_files
from facefusion.config.frozen import freeze
from facefusion.config.state import Snapshot
from facefusion.core.errors import ContentRefusedError, FaceFusionError, SetupError, Stopped, UsageError
from facefusion.core.report import RunReport
from facefusion.jobs.model import Job, JobStatus
from facefusion.jobs.work import StepResult, StepTask
from facefusion.observability.events import EventSink

PREFIX = "headless"
CHANGED = "it was changed while headless-run worked on it as it was before"
"""Why a step counts as failed that was done as the command line asked for it."""


def execute(context: Context) -> int:
    """As ``run``, which it is but for the job: same checks, same lines, same exit codes."""
    snapshot = context.state.snapshot
    return finish(context, process(context, snapshot, lambda settings, events: _in_a_job(context, settings, events)))


def _in_a_job(context: Context, settings: Snapshot, events: EventSink) -> RunReport:
    """Do the work, and write down in a job what is asked for and how it ends.

    Raises:
        OutputError: no job can be made; nothing was done.
        FaceFusionError: what the work raises, likewise any other error.
        Stopped: a stop was requested.
    """
    store = open_store(context)
    job = store.create_timed(PREFIX, [freeze(with_model_names(settings, context.events))])
    step = _OwnStep(context, settings, events)
    runner = job_runner(context, store, step, _Silence(context, step))
    try:
        runner.submit_and_run(job.id)
    except FaceFusionError as error:
        if not step.is_whole:
            raise
        context.terminal.close_bar()
        context.terminal.line(str(error), "warn")  # of the job; what was asked for is there
    except (Stopped, KeyboardInterrupt):
        context.terminal.close_bar()
        context.terminal.line(f"The job {job.id} stays queued; job-run {job.word} goes on with it.")
        raise
    return step.report()


class _OwnStep:
    """Does the one step with the settings at hand, and keeps how it ended.

    It does it once: what somebody makes of the job while it runs is not what this command was asked for.
    """

    def __init__(self, context: Context, settings: Snapshot, events: EventSink) -> None:
        self._context = context
        self._settings = settings
        self._events = events
        self._end: RunReport | Exception | None = None

    def __call__(self, task: StepTask) -> StepResult:
        """Do it.

        Raises:
            Stopped: a stop was requested.
        """
        context = self._context
        if self._end is not None:
            return StepResult(CHANGED, is_whole=False)
        try:
            report = context.application.execute(self._settings, self._events, context.stop)
        except Exception as error:  # noqa: BLE001 - raised again by who asked for the step
            end = outcome(error, context.stop)
            self._end = error
            return StepResult(kept(end, task, self._settings.schema), is_whole=False, is_refused=end.is_refusal)
        self._end = report
        fault = held_fault(report, self._settings)
        return StepResult(with_files(task, fault) if fault else "")

    @property
    def is_whole(self) -> bool:
        """Whether its result is there."""
        return isinstance(self._end, RunReport)

    @property
    def may_go_otherwise(self) -> bool:
        """Whether doing the same again may end differently: not where what was asked for, or the set-up, is wrong."""
        return not isinstance(self._end, UsageError | SetupError | ContentRefusedError)

    def report(self) -> RunReport:
        """The report of the step, or what it raised."""
        if isinstance(self._end, RunReport):
            return self._end
        assert self._end is not None, "a job of one step does that step"
        raise self._end


class _Silence:
    """Says nothing of the job but what fails about it: the step speaks for itself."""

    def __init__(self, context: Context, step: _OwnStep) -> None:
        self._context = context
        self._step = step

    def job_started(self, job: Job) -> None:
        """Not worth a line."""

    def delivered(self, output: object) -> None:
        """Said by the step."""

    def noticed(self, message: str) -> None:
        """Pass it on."""
        self._context.terminal.line(message, "warn")

    def job_ended(self, job: Job) -> None:
        """Where it failed, and may not when it is done again, say how to do that."""
        if job.status is JobStatus.FAILED and self._step.may_go_otherwise:
            self._context.terminal.close_bar()
            self._context.terminal.line(f"This run is kept as the job {job.id}; job-retry {job.word} does it again.")

    def failed(self, error: Exception) -> None:
        """Say what went wrong with the job."""
        conclude(error, self._context.terminal, self._context.stop)
