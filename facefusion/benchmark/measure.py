"""Runs each clip several times and keeps what was measured."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Protocol

from facefusion.benchmark.cases import Case
from facefusion.core.floor import Floor
from facefusion.core.report import RunReport
from facefusion.observability.stages import WAITS

BEFORE = ("decode", "content", "analyse", "detect", "landmarks", "recognise", "classify", "crop")
AFTER = ("masks", "paste", "scale", "encode", "join", *WAITS)
"""Stages before and after those of processors, in the order of a frame's walk, in which all are told."""


class Runner(Protocol):
    """Runs whole steps, as the user's own commands do."""

    def run(self, case: Case, output: Path) -> RunReport:
        """Process the clip into ``output``."""

    def floor(self, case: Case, report: RunReport, folder: Path) -> Floor:
        """What the run that ``report`` tells of, the last one, would have taken at least; writes to ``folder``."""

    def forget(self) -> None:
        """Unload everything that a first run had to load."""

    def command_start(self, case: Case, folder: Path) -> float:
        """Seconds that a process of its own takes from its start to the first frame; writes to ``folder``."""

    def played(self, case: Case, times: int, folder: Path) -> Case:
        """The case with its clip played several times over; writes to ``folder``."""


@dataclass(frozen=True, slots=True)
class Cycle:
    """One timed run of a clip."""

    seconds: float
    """From the call to the result in place, start-up included."""
    report: RunReport
    floor: Floor
    """Of this run, measured right after it."""

    @property
    def over_floor(self) -> float:
        """Seconds from the first frame decoded to the result in place, over those of the floor."""
        return self.report.seconds / self.floor.seconds


@dataclass(frozen=True, slots=True)
class CaseResult:
    """All timed runs of a clip; at least one."""

    case: Case
    cycles: tuple[Cycle, ...]
    cold_start: float
    """Seconds from the call to the first frame, with nothing loaded; the median where several were."""
    command_start: float
    """Seconds from the start of a process of its own to the first frame."""
    warm_start: float | None = None
    """Median seconds from the call to the first frame, with everything loaded; none where each run was cold."""

    @property
    def seconds(self) -> tuple[float, ...]:
        """Seconds of each cycle."""
        return tuple(cycle.seconds for cycle in self.cycles)

    @property
    def rates(self) -> tuple[float, ...]:
        """Frames per second of each cycle, start-up left out."""
        return tuple(cycle.report.frames_per_second for cycle in self.cycles)

    @property
    def frames_per_second(self) -> float:
        """Median of :attr:`rates`."""
        return median(self.rates)

    @property
    def ratios(self) -> tuple[float, ...]:
        """Each cycle's time over its floor."""
        return tuple(cycle.over_floor for cycle in self.cycles)

    @property
    def over_floor(self) -> float:
        """Median of :attr:`ratios`."""
        return median(self.ratios)

    @property
    def last(self) -> RunReport:
        """Of the last cycle."""
        return self.cycles[-1].report

    @property
    def floor(self) -> Floor:
        """That of the last cycle."""
        return self.cycles[-1].floor

    @property
    def peak_memory(self) -> int:
        """Highest resident memory of any cycle, in bytes."""
        return max(cycle.report.peak_memory for cycle in self.cycles)

    @property
    def peak_video_memory(self) -> int | None:
        """Highest video memory of any cycle, in bytes; none where nobody tells."""
        told = [peak for cycle in self.cycles if (peak := cycle.report.peak_video_memory) is not None]
        return max(told, default=None)

    @property
    def stages(self) -> dict[str, float]:
        """Median busy seconds of each stage, summed over threads."""
        return {name: seconds for name, seconds in self._stages().items() if name not in WAITS}

    @property
    def waits(self) -> dict[str, float]:
        """Median seconds in which threads did nothing, by what they waited for, summed over threads."""
        return {name: seconds for name, seconds in self._stages().items() if name in WAITS}

    def _stages(self) -> dict[str, float]:
        seen = dict.fromkeys(name for cycle in self.cycles for name in cycle.report.stages)
        between = [name for name in seen if name not in BEFORE + AFTER]
        names = [name for name in (*BEFORE, *between, *AFTER) if name in seen]
        return {name: median(cycle.report.stages.get(name, 0.0) for cycle in self.cycles) for name in names}


def measure(
    case: Case,
    runner: Runner,
    folder: Path,
    *,
    cycles: int,
    cold: bool,
    seconds: float = 0.0,
    clock: Callable[[], float] = time.perf_counter,
) -> CaseResult:
    """Run a clip ``cycles`` times; outputs go to ``folder`` and are removed.

    Args:
        case: the clip.
        runner: what runs it.
        folder: for the outputs.
        cycles: number of timed runs.
        cold: forget everything before each cycle; else one run of the clip goes before the first, which shows what a
            cold start takes.
        seconds: how long the floor of a cycle is to be: the clip is played so often. 0 plays it once.
        clock: seconds.
    """
    output = folder / case.target.name
    played = case
    cold_starts: list[float] = []
    if not cold or seconds > 0:
        runner.forget()
        first = runner.run(case, output)
        cold_starts = [first.start_up_seconds]
        if seconds > 0:
            floor = runner.floor(case, first, folder)
            played = runner.played(case, max(1, math.ceil(seconds / floor.seconds)), folder)
    timed: list[Cycle] = []
    for _ in range(cycles):
        if cold:
            runner.forget()
        output.unlink(missing_ok=True)
        begin = clock()
        report = runner.run(played, output)
        taken = clock() - begin
        timed.append(Cycle(taken, report, runner.floor(played, report, folder)))
    output.unlink(missing_ok=True)
    starts = [cycle.report.start_up_seconds for cycle in timed]
    return CaseResult(
        played,
        tuple(timed),
        cold_start=median(starts if cold else cold_starts),
        command_start=runner.command_start(case, folder),  # last: by now no model has to be fetched
        warm_start=None if cold else median(starts),
    )
