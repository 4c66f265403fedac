"""What the run of a job works with: who does a step, who is told, and what they are told."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from facefusion.core.stop import StopToken
from facefusion.jobs.delivery import Join
from facefusion.jobs.model import Job, JobStep
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
    is_refused: bool = False
    """Whether it failed since the content filter refused its target."""


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

    def failed(self, error: Exception) -> None:
        """An output cannot be made, a step cannot be begun, or a job cannot be run; also for a defect of ours."""


@dataclass(frozen=True, slots=True)
class RunMeans:
    """All that jobs are run with."""

    store: JobStore
    execute: StepExecutor
    join: Join
    listener: JobListener
    stop: StopToken
    halt_on_error: bool = False
    """Whether the first failure ends a job, and the run of several."""
