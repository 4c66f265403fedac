"""Changes of a job's steps, as values: a job goes in, another comes out.

A step's file carries its number, which is its index as long as no step is finished. Steps that take another step's
file as target or source are kept pointing at it when numbers change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

from facefusion.core.errors import JobError, UsageError
from facefusion.core.wording import shown
from facefusion.jobs.model import Job, JobStatus, JobStep, StepStatus
from facefusion.jobs.outputs import Outputs, identity, recasts

PATH_KEYS = ("target_path", "source_paths")


def added(job: Job, args: Mapping[str, object]) -> Job:
    """The job with a step behind its last.

    Raises:
        UsageError: its output is what it reads, or has the name of another step's file.
    """
    return _checked(_rebuilt(job, [*range(len(job.steps)), _new_step(job, args)]), len(job.steps))


def remixed(job: Job, index: int, args: Mapping[str, object]) -> Job:
    """The job with a step behind its last that works on the result of another step.

    Args:
        job: the job.
        index: the other step; negative means the last.
        args: settings of the new step. Its target is the other step's file, whatever they say.

    Raises:
        JobError: there is no such step.
        UsageError: the output of that step names no file, or that of the new one cannot be: see :func:`added`.
    """
    index = _existing(job, index)
    target, output = Outputs(job).steps[index].own, job.steps[index].output_path
    if target is None:
        raise UsageError(
            f"step {index} of the job {job.name} cannot be remixed: its output {output} names no file",
            "Give that step an output with an extension.",
        )
    rest = {key: value for key, value in args.items() if key != "target_path"}
    return added(job, {**rest, "target_path": str(target)})


def inserted(job: Job, index: int, args: Mapping[str, object]) -> Job:
    """The job with a step before another; before the last where ``index`` is negative.

    Raises:
        JobError: there is no such step.
        UsageError: as in :func:`added`.
    """
    index = _existing(job, index)
    return _checked(_rebuilt(job, [*range(index), _new_step(job, args), *range(index, len(job.steps))]), index)


def removed(job: Job, index: int) -> Job:
    """The job without a step; without the last where ``index`` is negative.

    Raises:
        JobError: there is no such step, another one works on its result, or it is the only one of a job that was
            submitted.
    """
    index = _existing(job, index)
    file = Outputs(job).steps[index].own
    for other, step in enumerate(job.steps):
        if file is not None and other != index and identity(file) in _files_read(step):
            raise JobError(
                f"step {index} of the job {job.name} cannot be removed: step {other} works on its result",
                f"Remove step {other} first.",
            )
    if len(job.steps) == 1 and job.status is not JobStatus.DRAFTED:
        raise JobError(
            f"step {index} is the only one of the job {job.name}, which was submitted",
            f"Remove the job with job-delete {job.word}.",
        )
    return _rebuilt(job, [*range(index), *range(index + 1, len(job.steps))])


def _checked(job: Job, new: int) -> Job:
    """The job, unless its new step cannot be done, or keeps another from being done, as the names of files tell."""
    outputs = Outputs(job)
    remedy = "Choose another --output-path."
    output, read = outputs.steps[new].output, outputs.overwritten(new)
    if read:
        raise UsageError(f"output {shown(str(output))} is the {read} itself", f"It would be overwritten. {remedy}")
    for index, files in enumerate(outputs.steps):
        keeper = outputs.keeper(index)
        if keeper is not None and new in (index, keeper, *outputs.followers(keeper), *_writers(outputs, keeper)):
            raise UsageError(
                f"the output {shown(str(files.output))} of step {index} has the name of the file in which the result "
                f"of step {keeper} is kept",
                remedy,
            )
    return job


def _writers(outputs: Outputs, index: int) -> tuple[int, ...]:
    output = outputs.output_of(index)
    return () if output is None else output.steps


def _existing(job: Job, index: int) -> int:
    if not job.steps:
        raise JobError(f"the job {job.name} has no steps", "Add one with job-add-step.")
    last = len(job.steps) - 1
    if index > last:
        raise JobError(f"the job {job.name} has no step {index}: its last is step {last}", "Choose another step.")
    return index if index >= 0 else last


def _new_step(job: Job, args: Mapping[str, object]) -> JobStep:
    return JobStep(StepStatus.DRAFTED if job.status is JobStatus.DRAFTED else StepStatus.QUEUED, dict(args))


def _rebuilt(job: Job, order: Sequence[int | JobStep]) -> Job:
    """The job with other steps; those that it has are named by their index.

    A finished step keeps its number; any other has its index, or the next number that nobody has. Steps that read the
    file of a step whose number changes read it under its new name. Such a step has no file that it made.
    """
    entries = [(job.steps[entry], job.number(entry)) if isinstance(entry, int) else (entry, None) for entry in order]
    taken = {number for step, number in entries if step.status is StepStatus.COMPLETED}
    steps = []
    for index, (step, old) in enumerate(entries):
        number = old
        if number is None or step.status is not StepStatus.COMPLETED:
            number = next(one for one in count(index) if one not in taken)
            taken.add(number)
        steps.append(replace(step, number=None if number == index else number, kept=step.kept if number == old else ""))
    rebuilt = replace(job, steps=tuple(steps))
    renamed = [
        (entry, index)
        for index, entry in enumerate(order)
        if isinstance(entry, int) and job.number(entry) != rebuilt.number(index)
    ]
    if not renamed:
        return rebuilt
    files = Outputs(job).steps
    moved = {
        identity(own): str(rebuilt.step_file(output, index))
        for entry, index in renamed
        if (own := files[entry].own) is not None and (output := files[entry].output) is not None
    }
    return replace(rebuilt, steps=tuple(_pointed(step, moved) for step in rebuilt.steps))


def _files_read(step: JobStep) -> set[str]:
    values = (step.args.get(key) for key in PATH_KEYS)
    paths = [path for value in values for path in (value if isinstance(value, list) else [value])]
    paths += [str(path) for item in recasts(step.args) for _, path in item.files]
    return {identity(Path(path)) for path in paths if isinstance(path, str)}


def _pointed(step: JobStep, moved: Mapping[str, str]) -> JobStep:
    """The step with the files that it reads under their new names."""
    if _files_read(step).isdisjoint(moved):
        return step

    def renamed(value: object) -> object:
        if isinstance(value, list):
            return [renamed(one) for one in value]
        return moved.get(identity(Path(value)), value) if isinstance(value, str) else value

    args = {key: renamed(value) if key in PATH_KEYS else value for key, value in step.args.items()}
    if recast := recasts(step.args):
        args["face_map"] = [str(item.renamed(lambda path: Path(str(renamed(str(path)))))) for item in recast]
    return replace(step, args=args)
