"""A step's work, a join and a listener that only say what they were asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from facefusion.core.errors import OutputError
from facefusion.core.stop import StopToken
from facefusion.jobs.model import Job
from facefusion.jobs.work import StepResult, StepTask


def write(task: StepTask) -> StepResult:
    """A result that tells what it was made of: the step's ``mark``, and what its target holds."""
    assert task.file is not None
    assert task.target is not None
    task.file.write_text(f"{task.step.args.get('mark', task.index)}({task.target.read_text()})")
    return StepResult()


@dataclass
class FakeWork:
    """Does steps, or what is said for one of them."""

    instead: dict[int, Callable[[StepTask], StepResult]] = field(default_factory=dict)
    tasks: list[StepTask] = field(default_factory=list)

    def __call__(self, task: StepTask) -> StepResult:
        self.tasks.append(task)
        return self.instead.get(task.index, write)(task)

    @property
    def done(self) -> list[int]:
        """Indices of the steps that were begun."""
        return [task.index for task in self.tasks]


def join(parts: Sequence[Path], output: Path, stop: StopToken) -> tuple[str, ...]:
    stop.check()
    output.write_text(" + ".join(part.read_text() for part in parts))
    return (f"{len(parts)} videos are joined.",)


def refuse_to_join(parts: Sequence[Path], output: Path, stop: StopToken) -> tuple[str, ...]:
    raise OutputError(f"{parts[0]} and {parts[1]} cannot be joined, for the size differs", "Make both in one size.")


@dataclass
class FakeListener:
    """Keeps what it is told, one line each."""

    lines: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)

    def job_started(self, job: Job) -> None:
        self.lines.append(f"{job.id} starts")

    def delivered(self, output: Path) -> None:
        self.outputs.append(str(output))

    def noticed(self, message: str) -> None:
        self.lines.append(message)

    def job_ended(self, job: Job) -> None:
        self.lines.append(f"{job.id} is {job.status.value}")

    def failed(self, error: Exception) -> None:
        self.lines.append(f"failed: {error}")
