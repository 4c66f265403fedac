"""One measurement in a process of its own, so that nothing of another is in it."""

from __future__ import annotations

import math
import multiprocessing
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from facefusion.app.engine import Engine
from facefusion.app.floor import measure_floor
from facefusion.app.sessions import Sessions
from facefusion.app.step import run_step
from facefusion.benchmark.cases import ASSETS, SOURCE_NAME, Case, played
from facefusion.benchmark.command import command_start
from facefusion.benchmark.measure import CaseResult, measure
from facefusion.benchmark.settings import BenchmarkSettings
from facefusion.config.schema import Schema
from facefusion.config.state import Snapshot
from facefusion.core.floor import Floor
from facefusion.core.report import RunReport
from facefusion.core.stop import StopToken
from facefusion.inference.tally import Fed
from facefusion.media.probe import probe
from facefusion.memory.meter import high_water
from facefusion.observability.events import Fanout

ResultT = TypeVar("ResultT")


@dataclass(frozen=True)
class Task:
    """What is run."""

    target: Path
    models: Path | None = None
    """Folder of the networks; that of the program where none is named."""
    options: Mapping[str, object] = field(default_factory=dict)
    """Settings that are not at their default."""
    frames: int = 30
    """Of a short run, by whose floor the length of the measured ones is reckoned."""

    @property
    def case(self) -> Case:
        """For the benchmark."""
        return Case(self.target.stem, ASSETS / SOURCE_NAME, self.target)


@dataclass(frozen=True)
class GraphUse:
    """A graph that frames went through."""

    path: Path
    fed: Fed


class StepRunner:
    """Runs a task's clip, as the program's own commands do. See :class:`facefusion.benchmark.measure.Runner`."""

    def __init__(self, task: Task) -> None:
        engine = Engine()
        groups = (*engine.settings_groups(), BenchmarkSettings)
        schema = Schema.of(groups, engine.option_choices(), engine.awaited_choices())
        models = {} if task.models is None else {"models_path": task.models}
        self.snapshot = Snapshot(schema, {}, {}).with_values({**models, **task.options})
        """The settings in force, but for the paths."""
        self._sessions = Sessions()
        self._frames = task.frames

    def run(self, case: Case, output: Path) -> RunReport:
        """Process the beginning of the clip."""
        return run_step(self._step(case, output), self._sessions, Fanout(), StopToken())

    def floor(self, case: Case, report: RunReport, folder: Path) -> Floor:
        """Of the last run."""
        return measure_floor(self._step(case, Path(report.output)), self._sessions, report, folder, StopToken())

    def forget(self) -> None:
        """Unload the models."""
        self._sessions.close()

    def command_start(self, case: Case, folder: Path) -> float:
        """Not measured here, where only the run counts: see :func:`whole_command`."""
        return math.nan

    def played(self, case: Case, times: int, folder: Path) -> Case:
        """The case with a run so many times longer: not a frame more, so that all cases are of one length."""
        self._frames *= times
        return self.long_enough(case, self._frames, folder)

    def long_enough(self, case: Case, frames: int, folder: Path) -> Case:
        """The case with its clip played until it has so many frames; runs are of so many from here on."""
        self._frames = frames
        count = probe(case.target).frame_count or frames
        return played(case, -(-frames // count), folder, StopToken())

    def change(self, options: Mapping[str, object]) -> None:
        """Run with other settings from here on."""
        self.snapshot = self.snapshot.with_values(options)

    @property
    def graphs(self) -> tuple[GraphUse, ...]:
        """Those that frames of the last run went through."""
        pool = self._sessions.pool
        runs = () if pool is None else pool.tally.runs()
        return tuple(GraphUse(one.model.path, one.fed) for one in runs)

    def _step(self, case: Case, output: Path) -> Snapshot:
        paths = {"source_paths": (case.source,), "target_path": case.target, "output_path": output}
        return self.snapshot.with_values({**paths, "trim_frame_end": self._frames})


def measure_task(task: Task, cycles: int, seconds: float) -> CaseResult:
    """Runs and floors in turn, each floor of so many seconds."""
    with _folder() as folder:
        return measure(task.case, StepRunner(task), folder, cycles=cycles, cold=False, seconds=seconds)


def run_task(task: Task, lengths: tuple[int, ...], rounds: int) -> list[list[RunReport]]:
    """Runs of each length in turn, one after the other, after a first that is not kept: a list for each length."""
    runner = StepRunner(task)
    with _folder() as folder:
        runner.run(task.case, folder / "out.mp4")
        found: list[list[RunReport]] = [[] for _ in lengths]
        for _ in range(rounds):
            for length, reports in zip(lengths, found, strict=True):
                reports.append(runner.run(runner.long_enough(task.case, length, folder), folder / "out.mp4"))
        return found


def first_run(task: Task) -> tuple[int, tuple[GraphUse, ...]]:
    """The most memory of a run in a process that has done nothing before, in bytes, and what it ran."""
    runner = StepRunner(task)
    with _folder() as folder:
        case = runner.long_enough(task.case, task.frames, folder)
        report = runner.run(case, folder / "out.mp4")
        # A meter alone looks now and then, and misses what a graph takes for a moment while it is loaded.
        return max(report.peak_memory, high_water()), runner.graphs


def starts(task: Task, others: tuple[Mapping[str, object], ...]) -> list[float]:
    """Seconds from the call to the first frame, one run after the other: each with the settings of an entry."""
    runner = StepRunner(task)
    found = []
    with _folder() as folder:
        for options in others:
            runner.change(options)
            found.append(runner.run(task.case, folder / "out.mp4").start_up_seconds)
    return found


def whole_command(task: Task) -> float:
    """Seconds from a command being given to its first frame."""
    with _folder() as folder:
        return command_start(task.case, StepRunner(task).snapshot, folder)


def in_own_process(work: Callable[..., ResultT], *values: Any, cores: int | None = None) -> ResultT:  # noqa: ANN401 - whatever the work takes
    """Do work in a process that begins with it and ends with it.

    Args:
        work: a function of a module.
        values: for it.
        cores: of the machine that the process may use; all where none is given.
    """
    with _pinned(cores), multiprocessing.get_context("spawn").Pool(1) as process:
        return process.apply(work, values)


@contextmanager
def _pinned(cores: int | None) -> Iterator[None]:
    """Children of this process begin with fewer cores: whoever counts them on being imported gets it right."""
    if cores is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:cores])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="facefusion-") as folder:
        yield Path(folder)


def with_options(task: Task, **options: object) -> Task:
    """A task with more settings."""
    return replace(task, options={**task.options, **options})
