"""Runs each clip several times and keeps what was measured."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Protocol

from facefusion.benchmark.cases import Case
from facefusion.core.report import RunReport


class Runner(Protocol):
    """Runs whole steps, as the user's own commands do."""

    def run(self, case: Case, output: Path) -> RunReport:
        """Process the clip into ``output``."""

    def forget(self) -> None:
        """Unload everything that a first run had to load."""


@dataclass(frozen=True, slots=True)
class Cycle:
    """One timed run of a clip."""

    seconds: float
    """From the call to the result in place, start-up included."""
    report: RunReport


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
    def average(self) -> float:
        """Mean seconds of a cycle."""
        return fmean(self.seconds)

    @property
    def frames_per_second(self) -> float:
        """Frames of all cycles over the seconds of all cycles."""
        return sum(cycle.report.frames for cycle in self.cycles) / sum(self.seconds)

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
        timed.append(Cycle(clock() - begin, report))
    output.unlink(missing_ok=True)
    return CaseResult(case, tuple(timed))
