"""Measures this machine on the sample clips."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from facefusion.benchmark.cases import Case, find_cases, played
from facefusion.benchmark.chart import check_chart, draw_chart
from facefusion.benchmark.command import command_start
from facefusion.benchmark.comparison import Kept, read_baseline, verdicts
from facefusion.benchmark.machine import describe_machine
from facefusion.benchmark.measure import CaseResult, measure
from facefusion.benchmark.report import about_machine, append_records, record, table
from facefusion.benchmark.settings import LAST, BenchmarkSettings
from facefusion.cli.command import Context
from facefusion.config.settings import PathsSettings
from facefusion.config.state import Snapshot
from facefusion.core.errors import SetupError, UsageError
from facefusion.core.floor import Floor
from facefusion.core.report import RunReport
from facefusion.observability.events import StepFinished, StepStarted


class _StepRunner:
    """Runs clips through the program with the user's settings, of which only the paths are its own."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def run(self, case: Case, output: Path) -> RunReport:
        """Process the clip as one step."""
        snapshot = self._snapshot(case, output)
        report = self._context.application.execute(snapshot, self._context.events, self._context.stop)
        self._context.stop.check()
        return report

    def floor(self, case: Case, report: RunReport, folder: Path) -> Floor:
        """See :meth:`facefusion.benchmark.measure.Runner.floor`."""
        snapshot = self._snapshot(case, Path(report.output))
        return self._context.application.floor(snapshot, report, folder, self._context.stop)

    def forget(self) -> None:
        """Unload the models."""
        self._context.application.release_models()

    def command_start(self, case: Case, folder: Path) -> float:
        """Start the program anew."""
        try:
            return command_start(case, self._context.state.snapshot, folder)
        finally:
            self._context.stop.check()  # Ctrl-C ends that process too, which is no failure of its own

    def played(self, case: Case, times: int, folder: Path) -> Case:
        """See :func:`facefusion.benchmark.cases.played`."""
        return played(case, times, folder, self._context.stop)

    def _snapshot(self, case: Case, output: Path) -> Snapshot:
        paths = {"source_paths": (case.source,), "target_path": case.target, "output_path": output}
        return self._context.state.snapshot.with_values(paths)


@contextmanager
def _scratch_folder(parent: Path | None) -> Iterator[Path]:
    """A folder for results that nobody keeps.

    Raises:
        SetupError: it cannot be made.
    """
    try:
        folder = tempfile.TemporaryDirectory(prefix="facefusion-", dir=parent)
    except OSError as error:
        where = parent if parent is not None else "the system's temporary folder"
        raise SetupError(
            f"no folder can be made in {where}: {error.strerror}", "Choose another one with --temp-path."
        ) from error
    with folder as path:
        yield Path(path)


def execute(context: Context) -> int:
    """Run every clip, write the table to the output stream and the records to their file."""
    snapshot = context.state.snapshot
    settings = snapshot.get(BenchmarkSettings)
    cases = find_cases(settings.benchmark_resolutions)
    baseline = _baseline(settings)
    if settings.benchmark_chart_path is not None:
        check_chart(settings.benchmark_chart_path)
    runner, machine = _StepRunner(context), describe_machine()
    results: list[CaseResult] = []
    with _scratch_folder(snapshot.get(PathsSettings).temp_path) as folder:
        for number, case in enumerate(cases, start=1):
            context.events.emit(StepStarted(number, len(cases), case.target.name))
            result = measure(
                case,
                runner,
                folder,
                cycles=settings.benchmark_cycle_count,
                cold=settings.benchmark_mode == "cold",
                seconds=settings.benchmark_seconds,
            )
            context.events.emit(StepFinished())
            results.append(result)
            if settings.benchmark_record_path is not None:
                entry = record(result, machine, settings, datetime.now(UTC))
                append_records(settings.benchmark_record_path, (entry,))
    lines = "".join(f"{verdict}\n" for verdict in verdicts(results, baseline))
    context.write(table(results) + about_machine(machine) + lines)
    if settings.benchmark_chart_path is not None:
        draw_chart(results, settings.benchmark_chart_path)
    return 0


def _baseline(settings: BenchmarkSettings) -> dict[str, Kept]:
    """What to compare with, read before this measurement is added to it."""
    if settings.benchmark_record_path is None:
        if settings.benchmark_baseline != LAST:
            raise UsageError(
                f"--benchmark-baseline {settings.benchmark_baseline} names records, and no file of any is given",
                "Give it with --benchmark-record-path.",
            )
        return {}
    append_records(settings.benchmark_record_path, ())
    return read_baseline(settings.benchmark_record_path, settings.benchmark_baseline)
