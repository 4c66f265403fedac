"""Runs each clip several times and keeps what was measured."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Protocol

from facefusion.benchmark.cases import Case
from facefusion.core.floor import Floor
from facefusion.core.report import RunReport


class Runner(Protocol):
    """Runs whole steps, as the user's own commands do."""

    def run(self, case: Case, output: Path) -> RunReport:
        """Process the clip into ``output``."""

    def floor(self, case: Case, report: RunReport, folder: Path) -> Floor:
        """What the run that ``report`` tells of, the last one, would have taken at least; writes to ``folder``."""

    def forget(self) -> None:
        """Unload everything that a first run had to load."""


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
    def start_up(self) -> float:
        """Median seconds from the call to the first frame."""
        return median(cycle.report.start_up_seconds for cycle in self.cycles)

    @property
    def over_floor(self) -> float:
        """Median of the cycles' times over their floors."""
        return median(cycle.over_floor for cycle in self.cycles)

    @property
    def floor(self) -> Floor:
        """That of the last cycle."""
        return self.cycles[-1].floor

    @property
    def peak_memory(self) -> int:
        """Highest resident memory of any cycle, in bytes."""
        return max(cycle.report.peak_memory for cycle in self.cycles)

    @property
    def stages(self) -> dict[str, float]:
        """Median busy seconds of each stage, summed over threads."""
        names = dict.fromkeys(name for cycle in self.cycles for name in cycle.report.stages)
        return {name: median(cycle.report.stages.get(name, 0.0) for cycle in self.cycles) for name in names}


def measure(
    case: Case,
    runner: Runner,
    folder: Path,
    *,
    cycles: int,
    cold: bool,
    clock: Callable[[], float] = time.perf_counter,
) -> CaseResult:
    """Run a clip ``cycles`` times; outputs go to ``folder`` and are removed.

    Args:
        case: the clip.
        runner: what runs it.
        folder: for the outputs.
        cycles: number of timed runs.
        cold: forget everything before each cycle; else one untimed run goes before the first.
        clock: seconds.
    """
    output = folder / case.target.name
    if not cold:
        runner.run(case, output)
    timed: list[Cycle] = []
    for _ in range(cycles):
        if cold:
            runner.forget()
        output.unlink(missing_ok=True)
        begin = clock()
        report = runner.run(case, output)
        seconds = clock() - begin
        timed.append(Cycle(seconds, report, runner.floor(case, report, folder)))
    output.unlink(missing_ok=True)
    return CaseResult(case, tuple(timed))
