"""What a job is: steps that are done in order, each with the settings it was asked for with."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from pathlib import Path


class JobStatus(Enum):
    """Where a job stands; the value is the name of the folder that its file lies in."""

    DRAFTED = "drafted"
    """Being put together."""
    QUEUED = "queued"
    """To be run, or being run."""
    COMPLETED = "completed"
    FAILED = "failed"
    """A step failed, or the process that ran the job ended before its time; can be retried."""


REJECTED = "rejected"
"""What a failed job is said to be of which the content filter refused all that failed. Its file lies among those that
failed: FaceFusion knows no other folder for it."""


class StepStatus(Enum):
    """Where a step stands."""

    DRAFTED = "drafted"
    QUEUED = "queued"
    STARTED = "started"
    """In work, as long as a process holds the job; without one, its process died."""
    COMPLETED = "completed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class JobStep:
    """One output to make from one target."""

    status: StepStatus
    args: Mapping[str, object]
    """The settings as they were frozen when the step was added: values of JSON by the options' names."""
    fault: str = ""
    """Why it failed; empty where it did not."""
    refused: bool = False
    """Whether it failed since the content filter refused its target."""
    number: int | None = None
    """What stands for the step in the name of its file; its index where none.

    The two part when steps are put before a finished one, or taken away: its file keeps its name.
    """
    delivered: bool = False
    """Whether its output was made of its result, so that its own file is no longer needed for that."""

    kept: str = ""
    """Absolute path of its own file, which this step made, or began to make where nothing lay; empty where none does.

    Nothing else is ever overwritten or removed for a step, whatever its name.
    """

    foreign: bool = False
    """Whether FaceFusion wrote it, which froze its defaults as if they had been chosen."""

    @property
    def has_failed(self) -> bool:
        """Whether it failed, or its output could not be made of its result."""
        return self.status is StepStatus.FAILED or bool(self.fault)

    @property
    def output_path(self) -> str | None:
        """Where its result is to go, as the user typed it."""
        path = self.args.get("output_path")
        return path if isinstance(path, str) else None


def names_step_file(job_id: str, path: str) -> bool:
    """Whether an absolute path ends as those of the files of a job's steps do.

    A job's file may come from anywhere, and what it names as a step's own may be removed.
    """
    return Path(path).is_absolute() and bool(re.fullmatch(rf".+-{re.escape(job_id)}-[0-9]+\.[^.]+", Path(path).name))


@dataclass(frozen=True, slots=True)
class Job:
    """A job as its file holds it."""

    id: str
    """The name of its file, without extension."""
    status: JobStatus
    created: datetime
    """With an offset from UTC, as all times here."""
    updated: datetime | None
    """Of the last change; none where there was none since it was made."""
    steps: tuple[JobStep, ...]
    submitted: datetime | None = None
    """When it was put into the queue; none where it was not, or by FaceFusion."""
    typed: str | None = None
    """The id as the user typed it, where the name of the file is made of that, and it is known."""

    @property
    def name(self) -> str:
        """What the user calls it."""
        return self.typed or self.id

    @property
    def is_rejected(self) -> bool:
        """Whether it failed for nothing but what the content filter refused."""
        failed = [step for step in self.steps if step.has_failed]
        return self.status is JobStatus.FAILED and bool(failed) and all(step.refused for step in failed)

    @property
    def state(self) -> str:
        """Where it stands, for people and machines: its status, or :data:`REJECTED`."""
        return REJECTED if self.is_rejected else self.status.value

    @property
    def word(self) -> str:
        """The same as a word of a command line."""
        return shlex.quote(self.name)

    @property
    def queued_since(self) -> datetime:
        """What the order of jobs is made of: when it was submitted, else changed or made."""
        return self.submitted or self.updated or self.created

    @property
    def has_started_step(self) -> bool:
        """Whether a step is in work, or was when the process that ran it ended."""
        return any(step.status is StepStatus.STARTED for step in self.steps)

    def with_step(self, index: int, **changes: object) -> Job:
        """The job with fields of one step changed, as ``with_step(0, status=StepStatus.STARTED)``."""
        steps = list(self.steps)
        steps[index] = replace(steps[index], **changes)  # type: ignore[arg-type]
        return replace(self, steps=tuple(steps))

    def number(self, index: int) -> int:
        """What stands for a step in the name of its file."""
        number = self.steps[index].number
        return index if number is None else number

    def step_file(self, output: Path, index: int) -> Path:
        """Where a step's work goes before it is joined into its output.

        ``<folder>/<stem>-<job id>-<number><extension>`` beside the output, the extension in lower case. Relative
        paths stay relative.

        Args:
            output: of the step; where that is a folder, the file in it.
            index: of the step.
        """
        return output.with_name(f"{output.stem}-{self.id}-{self.number(index)}{output.suffix.lower()}")
