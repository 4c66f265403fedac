"""Running jobs: step after step, each change kept in the job's file, and outputs made as soon as they can be.

Whatever ends a run, the next one goes on where it was: what is complete is not done again. Two runs of one job exclude
each other. The file is read again before each change, so that whoever edits it by hand is not overruled.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from facefusion.core.errors import FaceFusionError, JobBusyError, JobError, Stopped
from facefusion.core.stop import StopToken
from facefusion.jobs.delivery import Join, deliver
from facefusion.jobs.model import Job, JobStatus, JobStep, StepStatus
from facefusion.jobs.outputs import Output, Outputs
from facefusion.jobs.store import JobStore


@dataclass(frozen=True, slots=True)
class StepTask:
    """A step to be done."""

    job_id: str
    """As the user calls it."""
    index: int
    count: int
    """Steps of the job."""
    step: JobStep
    """Its settings as they are frozen in the job's file, among others."""
    target: Path | None
    """What to work on, instead of what the settings name."""
    output: Path | None
    """The file that is wanted in the end, never a folder."""
    file: Path | None
    """The file to write now: the output itself, or what will be a part of it."""

    @property
    def place(self) -> str:
        """For messages."""
        return f"job {self.job_id}, step {self.index}"


@dataclass(frozen=True, slots=True)
class StepResult:
    """How a step ended, other than by a stop."""

    fault: str = ""
    """Why it failed; empty where it did not."""
    is_whole: bool = True
    """Whether what it was to write is there. It may be for all that it failed."""


class StepExecutor(Protocol):
    """Does the work of a step. It raises nothing but a stop, and says itself how the step ended."""

    def __call__(self, task: StepTask) -> StepResult:
        """Write ``task.file``, whole or not at all.

        Raises:
            Stopped: a stop was requested before that.
        """


class JobListener(Protocol):
    """Is told how jobs go on, for the user."""

    def job_started(self, job: Job) -> None:
        """A job is run from here on, or gone on with."""

    def delivered(self, output: Path) -> None:
        """An output is in its place, whole."""

    def noticed(self, message: str) -> None:
        """The user should know."""

    def job_ended(self, job: Job) -> None:
        """A job is completed or has failed."""

    def failed(self, error: FaceFusionError) -> None:
        """An output cannot be made, or one of several jobs cannot be run."""


@dataclass(frozen=True, slots=True)
class Tally:
    """How several jobs ended."""

    count: int
    """Jobs that there were, those that other processes ran among them."""
    failed: int
    """Jobs that failed, or could not be run."""


@dataclass(frozen=True, slots=True)
class JobRunner:
    """Runs the jobs of one folder, one at a time."""

    store: JobStore
    execute: StepExecutor
    join: Join
    listener: JobListener
    stop: StopToken
    halt_on_error: bool = False
    """Whether the first failure ends a job, and the run of several."""

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
            return _Run(self, queued).to_its_end()

    def _all(self, status: JobStatus) -> Tally:
        scan = self.store.scan(status)
        failed = len(scan.faults)
        for fault in scan.faults:
            self.listener.failed(fault)
        for job in scan.jobs:
            if failed and self.halt_on_error:
                break
            self.stop.check()
            try:
                failed += self._fails(job, status)
            except FaceFusionError as error:
                self.listener.failed(error)
                failed += 1
        return Tally(len(scan.jobs) + len(scan.faults), failed)

    def _fails(self, listed: Job, status: JobStatus) -> bool:
        """Run one of several jobs, unless another process is, or was, quicker."""
        with contextlib.ExitStack() as stack:
            try:
                job = stack.enter_context(self.store.hold(listed.id))
            except JobBusyError:
                self.listener.noticed(f"The job {listed.name} is passed over: another process runs it.")
                return False
            return job.status is status and self._go_on(job).status is not JobStatus.COMPLETED

    def _go_on(self, job: Job) -> Job:
        """Run a job that is held, and is queued or has failed."""
        again = replace(job, steps=tuple(_queued_again(step) for step in job.steps))
        if job.status is JobStatus.FAILED:
            job = self.store.move(again, JobStatus.QUEUED)
        elif any(step.has_failed for step in job.steps):
            job = self.store.save(again)
        return _Run(self, job).to_its_end()


class _Run:
    """One run of a job that is queued and held."""

    def __init__(self, runner: JobRunner, job: Job) -> None:
        self._runner = runner
        self._job = job
        self._outputs = Outputs(job)
        self._made: set[int] = set()
        """Steps of the outputs made in this run."""
        self._redone: set[int] = set()
        """Steps that were complete when their result was gone; done again no more than once."""
        self._tried: set[tuple[int, ...]] = set()
        """Steps of the outputs that could not be made."""

    def to_its_end(self) -> Job:
        self._runner.listener.job_started(self._job)
        while True:
            self._read()
            self._put_back()
            self._look_for_results()
            self._deliver_what_is_due()
            index = None if self._is_halted else self._next()
            if index is None:
                return self._end()
            self._runner.stop.check()
            self._do(index)

    @property
    def _files(self) -> Outputs:
        self._outputs = self._outputs.of(self._job)
        return self._outputs

    @property
    def _is_halted(self) -> bool:
        return self._runner.halt_on_error and self._has_failed

    def _read(self) -> None:
        """Take the job as its file has it."""
        job = self._runner.store.find(self._job.id)
        if job.status is not JobStatus.QUEUED:
            raise JobError(f"the job {job.name} was made {job.status.value} while it ran", "It was left as it is.")
        self._job = job if job.typed == self._job.typed else replace(job, typed=self._job.typed)

    def _save(self, index: int, **changes: object) -> None:
        self._job = self._runner.store.save(self._job.with_step(index, **changes))

    def _put_back(self) -> None:
        """Queue what is neither done nor failed; a job's file may hold anything."""
        for index, step in enumerate(self._job.steps):
            if step.status in (StepStatus.STARTED, StepStatus.DRAFTED):
                self._save(index, status=StepStatus.QUEUED)

    def _look_for_results(self) -> None:
        """Queue complete steps again whose result is needed and gone, unless its folder is gone with it."""
        files = self._files
        for index, step in enumerate(self._job.steps):
            own = files.steps[index].own
            if step.status is not StepStatus.COMPLETED or own is None or not files.is_needed(index):
                continue
            if own.is_file() or not own.parent.is_dir():
                continue
            gone = f"its result {own} is gone"
            if index in self._redone:
                self._save(index, status=StepStatus.FAILED, fault=f"{gone}, for the second time", delivered=False)
                continue
            self._redone.add(index)
            self._runner.listener.noticed(f"step {index} of the job {self._job.name} is done again: {gone}.")
            self._save(index, status=StepStatus.QUEUED, delivered=False)

    def _next(self) -> int | None:
        """The step to do now; none where there is none that can be done."""
        files = self._files
        queued = (index for index, step in enumerate(self._job.steps) if step.status is StepStatus.QUEUED)
        return next((index for index in queued if not files.awaited(index)), None)

    def _do(self, index: int) -> None:
        self._save(index, status=StepStatus.STARTED, fault="", delivered=False)
        task = self._task(index)
        try:
            result = self._runner.execute(task)
        except (Stopped, KeyboardInterrupt):
            self._record(task, status=StepStatus.QUEUED)
            raise
        is_output = result.is_whole and task.file is not None and task.file == task.output
        if result.fault:
            is_recorded = self._record(task, status=StepStatus.FAILED, fault=result.fault)
        else:
            is_recorded = self._record(task, status=StepStatus.COMPLETED, fault="", delivered=is_output)
        if is_recorded and is_output and task.output is not None:
            self._runner.listener.delivered(task.output)

    def _task(self, index: int) -> StepTask:
        outputs, step = self._files, self._job.steps[index]
        files = outputs.steps[index]
        target = files.target if files.source is None else outputs.steps[files.source].own
        file = files.output if files.own is None or outputs.is_alone(index) else files.own
        return StepTask(self._job.name, index, len(self._job.steps), step, target, files.output, file)

    def _record(self, task: StepTask, **changes: object) -> bool:
        """Write down how a step ended; false where somebody changed it meanwhile, so that it has to be done again."""
        self._read()
        steps = self._job.steps
        if task.index < len(steps) and steps[task.index].args == task.step.args:
            self._save(task.index, **changes)
            return True
        message = f"step {task.index} of the job {self._job.name} was changed while it ran, and counts as not done."
        self._runner.listener.noticed(message)
        self._put_back()
        return False

    def _deliver_what_is_due(self) -> None:
        for output in self._files.outputs:
            if self._files.is_due(output) and output.steps not in self._tried:
                self._runner.stop.check()
                self._deliver(output)
        self._clear_up()

    def _deliver(self, output: Output) -> None:
        files = self._files
        results = [own for own in (files.steps[part].own for part in output.parts) if own is not None]
        last = output.parts[-1]
        is_read_on = any(self._job.steps[index].status is not StepStatus.COMPLETED for index in files.followers(last))
        try:
            notices = deliver(results, output.path, self._runner.join, self._runner.stop, apart=is_read_on)
        except FaceFusionError as error:
            self._tried.add(output.steps)
            self._runner.listener.failed(error)
            self._save(last, fault=f"its output {output.path} was not made: {error}")
            return
        steps = tuple(
            replace(step, delivered=True, fault="") if index in output.steps else step
            for index, step in enumerate(self._job.steps)
        )
        self._job = self._runner.store.save(replace(self._job, steps=steps))
        self._made.update(output.steps)
        for notice in notices:
            self._runner.listener.noticed(notice)
        self._runner.listener.delivered(output.path)

    def _clear_up(self) -> None:
        """Remove the steps' own files that nothing needs any more.

        What has the name of such a file, but of a step that wrote its output at once, is somebody else's.
        """
        outputs = self._files
        for files, step in zip(outputs.steps, self._job.steps, strict=True):
            if files.own is None or not step.delivered or outputs.is_needed(files.index):
                continue
            if outputs.is_alone(files.index) and files.index not in self._made:
                continue
            try:
                files.own.unlink(missing_ok=True)
            except OSError as error:
                self._runner.listener.noticed(f"{files.own} is no longer needed, and stays: {error.strerror}.")

    @property
    def _has_failed(self) -> bool:
        return any(step.has_failed for step in self._job.steps)

    def _end(self) -> Job:
        """Put the job where it belongs: nothing of it can be done now."""
        if not self._has_failed:
            self._fail_what_waits_for_itself()
        status = JobStatus.FAILED if self._has_failed else JobStatus.COMPLETED
        self._job = self._runner.store.move(self._job, status)
        self._runner.listener.job_ended(self._job)
        return self._job

    def _fail_what_waits_for_itself(self) -> None:
        files = self._files
        for index, step in enumerate(self._job.steps):
            if step.status is StepStatus.QUEUED:
                others = ", ".join(str(other) for other in files.awaited(index))
                fault = f"it waits for step {others}, which waits for it"
                self._runner.listener.failed(JobError(f"step {index} of the job {self._job.name}: {fault}", "Mend it."))
                self._save(index, status=StepStatus.FAILED, fault=fault)


def _queued_again(step: JobStep) -> JobStep:
    status = step.status if step.status is StepStatus.COMPLETED else StepStatus.QUEUED
    return replace(step, status=status, fault="")


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
