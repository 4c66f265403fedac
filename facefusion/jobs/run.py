"""One run of one job: step after step, each change kept in the job's file, and outputs made as soon as they can be.

Whatever ends it, the next one goes on where it was: what is complete is not done again. The file is read again before
each change, so that whoever edits it by hand is not overruled.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from facefusion.core.errors import FaceFusionError, JobError, Stopped
from facefusion.core.wording import shown
from facefusion.jobs.delivery import deliver
from facefusion.jobs.kept_files import remove_kept
from facefusion.jobs.model import Job, JobStatus, StepStatus
from facefusion.jobs.outputs import Output, Outputs, identity, is_folder, waits_for
from facefusion.jobs.work import RunMeans, StepResult, StepTask


class JobRun:
    """One run of a job that is queued and held."""

    def __init__(self, means: RunMeans, job: Job) -> None:
        self._means = means
        self._job = job
        self._outputs: Outputs | None = None
        self._redone: set[int] = set()
        """Steps that were complete when their result was gone; done again no more than once."""
        self._tried: set[tuple[int, ...]] = set()
        """Steps of the outputs that could not be made."""

    def to_its_end(self) -> Job:
        """Do all that can be done; the job as it is then, completed or failed.

        Raises:
            FaceFusionError: the job's file was taken away, or cannot be read or written.
            Stopped: a stop was requested; the job is queued.
        """
        try:
            return self._go()
        except FaceFusionError:
            raise
        except Exception as error:  # noqa: BLE001 - the outermost loop of a job
            self._means.stop.check()
            return self._give_up(error)

    def _give_up(self, error: Exception) -> Job:
        """Put the job down as failed for what nobody foresaw, so that it is not met again and again."""
        self._means.listener.failed(error)
        self._read()
        rest = [index for index, step in enumerate(self._job.steps) if step.status is not StepStatus.COMPLETED]
        begun = [index for index in rest if self._job.steps[index].status is StepStatus.STARTED]
        for index in (begun or rest)[:1]:
            fault = f"unexpected {type(error).__name__}: {error}"
            self._job = self._job.with_step(index, status=StepStatus.FAILED, fault=fault)
        return self._leave(JobStatus.FAILED)

    def _go(self) -> Job:
        self._means.listener.job_started(self._job)
        self._adopt()
        while True:
            self._read()
            self._put_back()
            self._look_for_results()
            self._deliver_what_is_due()
            index = None if self._is_halted else self._next()
            if index is None:
                return self._end()
            self._means.stop.check()
            self._do(index)

    @property
    def _files(self) -> Outputs:
        self._outputs = Outputs(self._job) if self._outputs is None else self._outputs.of(self._job)
        return self._outputs

    def _name(self, index: int) -> str:
        return f"step {index} of the job {self._job.name}"

    @property
    def _is_halted(self) -> bool:
        return self._means.halt_on_error and self._has_failed

    def _read(self) -> None:
        """Take the job as its file has it."""
        job = self._means.store.held(self._job.id)
        if job.status is not JobStatus.QUEUED:
            raise JobError(f"the job {job.name} was made {job.status.value} while it ran", "It was left as it is.")
        self._job = job if job.typed == self._job.typed else replace(job, typed=self._job.typed)

    def _save(self, index: int, **changes: object) -> None:
        self._job = self._means.store.save(self._job.with_step(index, **changes))

    def _adopt(self) -> None:
        """Take the results that FaceFusion kept, which says nothing of that, for what they are."""
        for files, step in zip(self._files.steps, self._job.steps, strict=True):
            is_kept = step.status is StepStatus.COMPLETED and not step.delivered
            if is_kept and not step.kept and files.own is not None and _lies(files.own):
                self._save(files.index, kept=_absolute(files.own))

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
            if not _is_gone(own):
                continue
            gone = f"its result {own} is gone"
            if index in self._redone:
                self._save(index, status=StepStatus.FAILED, fault=f"{gone}, for the second time", delivered=False)
                continue
            self._redone.add(index)
            self._means.listener.noticed(f"{self._name(index)} is done again: {gone}.")
            self._save(index, status=StepStatus.QUEUED, delivered=False)

    def _next(self) -> int | None:
        """The step to do now; none where there is none that can be done."""
        files = self._files
        queued = (index for index, step in enumerate(self._job.steps) if step.status is StepStatus.QUEUED)
        return next((index for index in queued if not files.awaited(index)), None)

    def _do(self, index: int) -> None:
        refusal = self._refusal(index)
        if refusal is not None:
            self._means.listener.failed(JobError(f"{self._name(index)}: {refusal.fault}", refusal.remedy))
            self._save(index, status=StepStatus.FAILED, fault=str(refusal))
            return
        task, own = self._task(index), self._own(index)
        # What will lie there is this step's, also where the process is killed before it is known to.
        kept = self._job.steps[index].kept if own is None else _absolute(own)
        self._save(index, status=StepStatus.STARTED, fault="", refused=False, delivered=False, kept=kept)
        task = replace(task, step=self._job.steps[index])
        try:
            result = self._means.execute(task)
        except (Stopped, KeyboardInterrupt):
            self._record(task, status=StepStatus.QUEUED)
            raise
        self._conclude(task, result)

    def _conclude(self, task: StepTask, result: StepResult) -> None:
        """Write down how a step ended."""
        output = task.output if result.is_whole and task.file == task.output else None
        status = StepStatus.FAILED if result.fault else StepStatus.COMPLETED
        changes = {"delivered": output is not None} if status is StepStatus.COMPLETED else {}
        try:
            is_recorded = self._record(task, status=status, fault=result.fault, refused=result.is_refused, **changes)
        except FaceFusionError as error:
            if output is not None:
                self._means.listener.delivered(output)
            if not result.is_whole:
                raise
            made = f"{self._name(task.index)} has made {task.file}, which cannot be written down"
            raise type(error)(f"{made}: {error.fault}", error.remedy) from error
        if is_recorded and output is not None:
            self._means.listener.delivered(output)

    def _own(self, index: int) -> Path | None:
        """Where the result of a step is to be kept; none where it writes its output at once."""
        files = self._files
        return None if files.is_alone(index) else files.steps[index].own

    def _refusal(self, index: int) -> JobError | None:
        """Why a step must not be begun: it would write over what is not its own."""
        own, keeper = self._own(index), self._files.keeper(index)
        if own is not None and not self._owns(index) and _lies(own):
            return JobError(
                f"its result would be kept as {shown(str(own))}, where a file lies that it did not make",
                f"Move that away, then go on with job-retry {self._job.word}.",
            )
        if keeper is not None:
            output = shown(str(self._files.steps[index].output))
            fault = f"its output {output} is where the result of another step is kept"
            return JobError(fault, "Choose another --output-path.")
        return None

    def _owns(self, index: int) -> bool:
        """Whether what lies at the place of a step's own file is of its making."""
        own, kept = self._files.steps[index].own, self._job.steps[index].kept
        return own is not None and bool(kept) and identity(own) == identity(Path(kept))

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
            kept = task.step.kept
            self._save(task.index, kept=kept if kept and _lies(Path(kept)) else "", **changes)
            return True
        message = f"{self._name(task.index)} was changed while it ran, and counts as not done."
        self._means.listener.noticed(message)
        self._put_back()
        return False

    def _deliver_what_is_due(self) -> None:
        for output in self._files.outputs:
            if self._files.is_due(output) and output.steps not in self._tried:
                self._means.stop.check()
                self._deliver(output)
        self._clear_up()

    def _deliver(self, output: Output) -> None:
        files = self._files
        results = [own for own in (files.steps[part].own for part in output.parts) if own is not None]
        last = output.parts[-1]
        is_read_on = any(self._job.steps[index].status is not StepStatus.COMPLETED for index in files.followers(last))
        try:
            notices = deliver(results, output.path, self._means.join, self._means.stop, apart=is_read_on)
        except FaceFusionError as error:
            self._tried.add(output.steps)
            self._means.listener.failed(error)
            self._save(last, fault=f"its output {output.path} was not made: {error}")
            return
        steps = tuple(
            replace(step, delivered=True, fault="") if index in output.steps else step
            for index, step in enumerate(self._job.steps)
        )
        self._job = self._means.store.save(replace(self._job, steps=steps))
        for notice in notices:
            self._means.listener.noticed(notice)
        self._means.listener.delivered(output.path)

    def _clear_up(self) -> None:
        """Remove the steps' own files that nothing needs any more."""
        outputs = self._files
        for index, step in enumerate(self._job.steps):
            if not step.kept or not step.delivered or outputs.is_needed(index):
                continue
            # With the next change of the job it is written down; until then it does no harm to do it again.
            self._job = self._job.with_step(index, kept="")
            for notice in remove_kept([step]):
                self._means.listener.noticed(notice)

    @property
    def _has_failed(self) -> bool:
        return any(step.has_failed for step in self._job.steps)

    def _end(self) -> Job:
        """Put the job where it belongs: nothing of it can be done now."""
        if not self._has_failed:
            self._fail_what_waits_for_itself()
        for index, others in self._files.waiting().items():
            self._means.listener.noticed(f"{self._name(index)} is not done: it {waits_for(others)}.")
        return self._leave(JobStatus.FAILED if self._has_failed else JobStatus.COMPLETED)

    def _leave(self, status: JobStatus) -> Job:
        self._job = self._means.store.move(self._job, status)
        self._means.listener.job_ended(self._job)
        return self._job

    def _fail_what_waits_for_itself(self) -> None:
        files = self._files
        for index, step in enumerate(self._job.steps):
            if step.status is StepStatus.QUEUED:
                fault = f"it {waits_for(files.awaited(index))}, which waits for it"
                self._means.listener.failed(JobError(f"{self._name(index)}: {fault}", "Mend it."))
                self._save(index, status=StepStatus.FAILED, fault=fault)


def _lies(path: Path) -> bool:
    """Whether something has that name, as far as the system lets us look."""
    return os.path.lexists(path)


def _is_gone(file: Path) -> bool:
    """Whether a file is seen not to be in its folder."""
    try:
        return not file.is_file() and is_folder(file.parent)
    except (OSError, ValueError):
        return False


def _absolute(path: Path) -> str:
    return os.path.abspath(path)  # noqa: PTH100 - Path.absolute leaves the dots
