"""Which files the steps of a job read and write, and what becomes of them in the end.

A step that is the only one to write its output, and whose result no other step works on, writes it at once. Every other
step writes its own file beside the output (:meth:`~facefusion.jobs.model.Job.step_file`); when all steps of one output
are complete, their files become that output:

- videos follow one another, in the order of the steps;
- likewise images in a format that holds moving pictures, if all of them move;
- of other images the last one is taken;
- what another step of the same output goes on from is not part of it: the end of the chain is what is meant.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from facefusion.core.formats import MediaKind, can_hold
from facefusion.faces.face_map import Recast
from facefusion.jobs.ids import digest
from facefusion.jobs.model import Job, JobStep, StepStatus

HASHED_ID = re.compile(r"[0-9a-f]{40}")
"""What FaceFusion made of an id that it could not take for a file's name: the SHA-1 of it."""


Identify = Callable[[Path], str]
"""As :func:`identity`."""


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
    sources: tuple[Path, ...] = ()
    """Photos and sound that it takes, as it names them, and pictures of those who are replaced."""
    reads: tuple[int, ...] = ()
    """The steps whose own files are its target or among its sources."""


@dataclass(frozen=True, slots=True)
class Output:
    """One file that is wanted in the end."""

    path: Path
    steps: tuple[int, ...]
    """All that name it."""
    parts: tuple[int, ...]
    """Those whose results make it, in order: one or more of what may move, else one."""


class Outputs:
    """The files of a job as it stands, seen from the working folder: relative paths are meant from there.

    Looking at the paths of a batch takes a while, so what depends on the settings alone is worked out once: :meth:`of`
    gives the same for the job as it stands later.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self._layout = _Layout(job)

    def of(self, job: Job) -> Outputs:
        """The files of a job, which as a rule is this one a moment later."""
        if job is self._job:
            return self
        if job.id != self._job.id or not _same_files(job.steps, self._job.steps):
            return Outputs(job)
        later = copy(self)
        later._job = job
        return later

    @property
    def steps(self) -> tuple[StepFiles, ...]:
        """What each step reads and writes, by its index."""
        return self._layout.steps

    @property
    def outputs(self) -> tuple[Output, ...]:
        """What is wanted in the end, in the order of the first step of each."""
        return self._layout.outputs

    def output_of(self, index: int) -> Output | None:
        """The output that a step names; none where it names none."""
        return self._layout.output_of.get(index)

    def followers(self, index: int) -> tuple[int, ...]:
        """The steps that read the own file of a step."""
        return tuple(self._layout.followers.get(index, ()))

    def is_alone(self, index: int) -> bool:
        """Whether a step makes its output by itself, and no other step works on its result."""
        output = self.output_of(index)
        return output is not None and output.steps == (index,) and not self.followers(index)

    def awaited(self, index: int) -> tuple[int, ...]:
        """The steps that have still to be done before a step can be.

        Those are the ones whose own files it reads. Where it reads the output of an earlier one, they are all that make
        that output.
        """
        steps = self._job.steps
        own = {one for one in self.steps[index].reads if steps[one].status is not StepStatus.COMPLETED}
        makers = {one for one in self._layout.makers.get(index, ()) if not _is_delivered(steps[one])}
        return tuple(sorted(own | makers))

    def overwritten(self, index: int) -> str:
        """What a step reads and would overwrite, as its names tell: ``target``, ``source`` or nothing."""
        return self._layout.overwritten.get(index, "")

    def keeper(self, index: int) -> int | None:
        """The step whose result is kept where another one's output is to be; none, as a rule."""
        keeper = self._layout.keepers.get(index)
        if keeper is None or (self.is_alone(keeper) and not self._job.steps[keeper].kept):
            return None
        return keeper

    def waiting(self) -> Mapping[int, tuple[int, ...]]:
        """The queued steps that wait, and for which."""
        queued = (index for index, step in enumerate(self._job.steps) if step.status is StepStatus.QUEUED)
        awaited = ((index, self.awaited(index)) for index in queued)
        return {index: others for index, others in awaited if others}

    def is_needed(self, index: int) -> bool:
        """Whether the own file of a complete step has still to be there."""
        steps = self._job.steps
        if any(steps[follower].status is not StepStatus.COMPLETED for follower in self.followers(index)):
            return True
        output = self.output_of(index)
        return output is not None and index in output.parts and not self.is_made(output)

    def is_made(self, output: Output) -> bool:
        """Whether an output was made of the results of all its steps."""
        return all(_is_delivered(self._job.steps[index]) for index in output.steps)

    def is_due(self, output: Output) -> bool:
        """Whether an output can be made, and was not yet."""
        steps = (self._job.steps[index] for index in output.steps)
        return all(step.status is StepStatus.COMPLETED for step in steps) and not self.is_made(output)


class _Layout:
    """What the settings of a job's steps say of its files, whatever was done of it."""

    def __init__(self, job: Job) -> None:
        identify = cache(identity)  # most paths are asked for several times
        self.steps = _connected(job, identify)
        self.outputs = _outputs(self.steps, identify)
        self.output_of = {index: output for output in self.outputs for index in output.steps}
        self.followers: dict[int, list[int]] = {}
        self.makers: dict[int, list[int]] = {}
        """For each step that reads the output of an earlier one, the steps that make that."""
        self.overwritten = {files.index: name for files in self.steps if (name := _overwritten(files, identify))}
        self.keepers = _keepers(self.steps, identify)
        outputs = {identify(output.path): output for output in self.outputs}
        for files in self.steps:
            for index in files.reads:
                self.followers.setdefault(index, []).append(files.index)
            for _, path in _read_by(files):
                output = outputs.get(identify(path))
                if output is not None and output.steps[0] < files.index:
                    # One that would overwrite what it reads makes nothing: the file that is there is meant.
                    others = (one for one in output.steps if one != files.index and one not in self.overwritten)
                    self.makers.setdefault(files.index, []).extend(others)


def identity(path: Path) -> str:
    """What two paths of one file have in common, also of files that cannot be looked at, or cannot be."""
    try:
        return os.path.normcase(os.path.realpath(path))
    except (OSError, ValueError):
        return str(path)


def is_folder(path: Path) -> bool:
    """Whether it is seen to be a folder. ``Path.is_dir`` raises where the system does not let us look."""
    return os.path.isdir(path)  # noqa: PTH112


def waits_for(others: Sequence[int]) -> str:
    """What a step does that cannot be done before others are."""
    return f"waits for step{'s' if len(others) > 1 else ''} {', '.join(map(str, others))}"


def _is_delivered(step: JobStep) -> bool:
    return step.status is StepStatus.COMPLETED and step.delivered


def _same_files(steps: Sequence[JobStep], others: Sequence[JobStep]) -> bool:
    return len(steps) == len(others) and all(
        step.number == other.number and (step.args is other.args or step.args == other.args)
        for step, other in zip(steps, others, strict=True)
    )


def _files(job: Job, index: int, args: Mapping[str, object]) -> StepFiles:
    """The files of a step by itself."""
    target, output = _path(args, "target_path"), _path(args, "output_path")
    if output is not None and is_folder(output):
        output = None if target is None else output / target.name
    own = None if output is None or not output.suffix else job.step_file(output, index)
    sources = args.get("source_paths")
    paths = (Path(path) for path in (sources if isinstance(sources, list) else ()) if isinstance(path, str) and path)
    mapped = (path for item in recasts(args) for _, path in item.files)
    return StepFiles(index, target, output, own, sources=(*paths, *mapped))


def recasts(args: Mapping[str, object]) -> tuple[Recast, ...]:
    """Who becomes whom in a step; nothing where that is not written as it should be, which its run will say."""
    items = args.get("face_map")
    try:
        return tuple(Recast.read(item) for item in (items if isinstance(items, list) else ()) if isinstance(item, str))
    except ValueError:
        return ()


def _read_by(files: StepFiles) -> tuple[tuple[str, Path], ...]:
    sources = tuple(("source", path) for path in files.sources)
    return sources if files.target is None else (("target", files.target), *sources)


def _overwritten(files: StepFiles, identify: Identify) -> str:
    if files.output is None:
        return ""
    output = identify(files.output)
    return next((name for name, path in _read_by(files) if identify(path) == output), "")


def _keepers(steps: Sequence[StepFiles], identify: Identify) -> dict[int, int]:
    """For each step whose output has the name of another one's own file, that step."""
    owners = {identify(files.own): files.index for files in steps if files.own is not None}
    found = ((files.index, owners.get(identify(files.output))) for files in steps if files.output is not None)
    return {index: owner for index, owner in found if owner is not None and owner != index}


def _connected(job: Job, identify: Identify) -> tuple[StepFiles, ...]:
    """The files of the steps, with what they have of each other."""
    found = [_files(job, index, step.args) for index, step in enumerate(job.steps)]
    owners = {identify(files.own): files.index for files in reversed(found) if files.own is not None}
    for index, files in enumerate(found):
        number = None if files.target is None else owners.get(identify(files.target))
        if number is None:
            number = _hashed_source(files.target, found, job.id, identify)
        if number is None or number == index:
            continue
        source, output, own = found[number], files.output, files.own
        place = _path(job.steps[index].args, "output_path")
        if place is not None and is_folder(place) and source.output is not None:
            # In a folder a chain ends under the name of what it began with.
            output = place / source.output.name
            own = job.step_file(output, index)
            owners.setdefault(identify(own), index)
        found[index] = replace(files, output=output, own=own, source=number)
    return tuple(replace(files, reads=_reads(files, owners, identify)) for files in found)


def _reads(files: StepFiles, owners: Mapping[str, int], identify: Identify) -> tuple[int, ...]:
    named = (owners.get(identify(path)) for path in files.sources)
    return tuple({index: None for index in (files.source, *named) if index is not None and index != files.index})


def _hashed_source(target: Path | None, steps: Sequence[StepFiles], job_id: str, identify: Identify) -> int | None:
    """The step whose own file a target is, named after an id of which the job's is the hash; none where it is no such.

    FaceFusion named the file after the id as it was typed.
    """
    name = None if target is None or not HASHED_ID.fullmatch(job_id) else re.fullmatch(r".+-([0-9]{1,9})", target.stem)
    if target is None or name is None or int(name[1]) >= len(steps):
        return None
    files = steps[int(name[1])]
    if files.own is None or files.output is None or identify(target.parent) != identify(files.own.parent):
        return None
    typed = re.fullmatch(rf"{re.escape(files.output.stem)}-(.+)-{files.index}", target.stem)
    if typed is None or digest(typed[1]) != job_id:
        return None
    return files.index


def _outputs(steps: tuple[StepFiles, ...], identify: Identify) -> tuple[Output, ...]:
    writers: dict[str, list[StepFiles]] = {}
    for files in steps:
        if files.output is not None:
            writers.setdefault(identify(files.output), []).append(files)
    return tuple(_output(files[0].output, files) for files in writers.values() if files[0].output is not None)


def _output(path: Path, writers: list[StepFiles]) -> Output:
    gone_on_from = {files.source for files in writers}
    parts = tuple(files.index for files in writers if files.index not in gone_on_from)
    if not can_hold(path, MediaKind.VIDEO):
        parts = parts[-1:]
    return Output(path, tuple(files.index for files in writers), parts)


def _path(args: Mapping[str, object], key: str) -> Path | None:
    value = args.get(key)
    return Path(value) if isinstance(value, str) and value else None
