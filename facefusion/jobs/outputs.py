"""Which files the steps of a job read and write, and what becomes of them in the end.

A step that is the only one to write its output, and whose result no other step works on, writes it at once. Every other
step writes its own file beside the output (:meth:`~facefusion.jobs.model.Job.step_file`); when all steps of one output
are complete, their files become that output:

- videos follow one another, in the order of the steps;
- of images the last one is taken;
- what another step of the same output goes on from is not part of it: the end of the chain is what is meant.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from facefusion.core.formats import MediaKind, kind_of
from facefusion.jobs.model import Job, JobStep, StepStatus

HASHED_ID = re.compile(r"[0-9a-f]{40}")
"""What FaceFusion made of an id that it could not take for a file's name: the SHA-1 of it."""


@dataclass(frozen=True, slots=True)
class StepFiles:
    """What a step reads and writes."""

    index: int
    target: Path | None
    """As the step names it."""
    output: Path | None
    """The file that is wanted in the end, never a folder; none where the step names none."""
    own: Path | None
    """Where its result is kept until its output is made, unless it writes that at once."""
    source: int | None = None
    """The step whose own file is the target; none where that is any other file."""


@dataclass(frozen=True, slots=True)
class Output:
    """One file that is wanted in the end."""

    path: Path
    steps: tuple[int, ...]
    """All that name it."""
    parts: tuple[int, ...]
    """Those whose results make it, in order: of videos one or more, else one."""


class Outputs:
    """The files of a job as it stands, seen from the working folder: relative paths are meant from there."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self.steps = _connected(job, _named(job))
        """What each step reads and writes, by its index."""
        self.outputs = _outputs(self.steps)
        """What is wanted in the end, in the order of the first step of each."""

    def output_of(self, index: int) -> Output | None:
        """The output that a step names; none where it names none."""
        return next((output for output in self.outputs if index in output.steps), None)

    def followers(self, index: int) -> tuple[int, ...]:
        """The steps that work on the result of a step."""
        return tuple(files.index for files in self.steps if files.source == index)

    def is_alone(self, index: int) -> bool:
        """Whether a step makes its output by itself, and no other step works on its result."""
        output = self.output_of(index)
        return output is not None and output.steps == (index,) and not self.followers(index)

    def awaited(self, index: int) -> tuple[int, ...]:
        """The steps that have still to be done before a step can be.

        That is the one whose result it works on. Where its target is the output of an earlier one, it is all that make
        that output.
        """
        files, steps = self.steps[index], self._job.steps
        if files.source is not None:
            return (files.source,) if steps[files.source].status is not StepStatus.COMPLETED else ()
        if files.target is None:
            return ()
        target = identity(files.target)
        makers = next((output.steps for output in self.outputs if identity(output.path) == target), ())
        if not any(maker < index for maker in makers):
            return ()
        return tuple(maker for maker in makers if maker != index and not _is_delivered(steps[maker]))

    def is_needed(self, index: int) -> bool:
        """Whether the own file of a complete step has still to be there."""
        steps = self._job.steps
        if any(steps[follower].status is not StepStatus.COMPLETED for follower in self.followers(index)):
            return True
        return any(index in output.parts and not self.is_made(output) for output in self.outputs)

    def is_made(self, output: Output) -> bool:
        """Whether an output was made of the results of all its steps."""
        return all(_is_delivered(self._job.steps[index]) for index in output.steps)

    def is_due(self, output: Output) -> bool:
        """Whether an output can be made, and was not yet."""
        steps = (self._job.steps[index] for index in output.steps)
        return all(step.status is StepStatus.COMPLETED for step in steps) and not self.is_made(output)


def identity(path: Path) -> str:
    """What two paths of one file have in common."""
    return os.path.normcase(os.path.realpath(path))


def _is_delivered(step: JobStep) -> bool:
    return step.status is StepStatus.COMPLETED and step.delivered


def _named(job: Job) -> list[StepFiles]:
    """The files of each step, by themselves."""
    return [_files(job, index, step.args) for index, step in enumerate(job.steps)]


def _files(job: Job, index: int, args: Mapping[str, object]) -> StepFiles:
    target, output = _path(args, "target_path"), _path(args, "output_path")
    if output is not None and output.is_dir():
        output = None if target is None else output / target.name
    own = None if output is None or not output.suffix else job.step_file_beside(output, index)
    return StepFiles(index, target, output, own)


def _connected(job: Job, named: list[StepFiles]) -> tuple[StepFiles, ...]:
    """The files of the steps, with what they have of each other."""
    found: list[StepFiles] = []
    for files in named:
        others = [*found, *named[len(found) + 1 :]]
        source = next((other for other in others if _is_own(files.target, other, job.id)), None)
        if source is None:
            found.append(files)
            continue
        output, own = files.output, files.own
        place = _path(job.steps[files.index].args, "output_path")
        if place is not None and place.is_dir() and source.output is not None:
            # In a folder a chain ends under the name of what it began with.
            output = place / source.output.name
            own = job.step_file_beside(output, files.index)
        found.append(replace(files, output=output, own=own, source=source.index))
    return tuple(found)


def _is_own(target: Path | None, files: StepFiles, job_id: str) -> bool:
    """Whether a target is the own file of a step."""
    if target is None or files.own is None or files.output is None:
        return False
    if identity(target) == identity(files.own):
        return True
    # FaceFusion named the file after the id as it was typed, and the job after the hash of that.
    name = re.fullmatch(rf"{re.escape(files.output.stem)}-(.+)-{files.index}", target.stem)
    if name is None or not HASHED_ID.fullmatch(job_id) or identity(target.parent) != identity(files.own.parent):
        return False
    return hashlib.sha1(os.fsencode(name[1]), usedforsecurity=False).hexdigest() == job_id


def _outputs(steps: tuple[StepFiles, ...]) -> tuple[Output, ...]:
    writers: dict[str, list[StepFiles]] = {}
    for files in steps:
        if files.output is not None:
            writers.setdefault(identity(files.output), []).append(files)
    return tuple(_output(files[0].output, files) for files in writers.values() if files[0].output is not None)


def _output(path: Path, writers: list[StepFiles]) -> Output:
    gone_on_from = {files.source for files in writers}
    parts = tuple(files.index for files in writers if files.index not in gone_on_from)
    if kind_of(path) is not MediaKind.VIDEO:
        parts = parts[-1:]
    return Output(path, tuple(files.index for files in writers), parts)


def _path(args: Mapping[str, object], key: str) -> Path | None:
    value = args.get(key)
    return Path(value) if isinstance(value, str) and value else None
