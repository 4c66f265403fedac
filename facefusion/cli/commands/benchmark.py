"""Measures this machine on the sample clips."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from pathlib import Path

from facefusion.benchmark.cases import Case, find_cases
from facefusion.benchmark.machine import describe_machine
from facefusion.benchmark.measure import CaseResult, measure
from facefusion.benchmark.report import append_records, record, table
from facefusion.benchmark.settings import BenchmarkSettings
from facefusion.cli.command import Context
from facefusion.config.settings import PathsSettings
from facefusion.core.report import RunReport


class _StepRunner:
    """Runs clips through the program with the user's settings, of which only the paths are its own."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def run(self, case: Case, output: Path) -> RunReport:
        """Process the clip as one step."""
        paths = {"source_paths": (case.source,), "target_path": case.target, "output_path": output}
        snapshot = self._context.state.snapshot.with_values(paths)
        report = self._context.application.execute(snapshot, self._context.events, self._context.stop)
        self._context.stop.check()
        return report

    def forget(self) -> None:
        """Unload the models."""
        self._context.application.release_models()


def execute(context: Context) -> int:
    """Run every clip, write the table to the output stream and the records to their file."""
    snapshot = context.state.snapshot
    settings = snapshot.get(BenchmarkSettings)
    cases = find_cases(settings.benchmark_resolutions)
    if settings.benchmark_record_path is not None:
        append_records(settings.benchmark_record_path, ())
    runner = _StepRunner(context)
    results: list[CaseResult] = []
    with tempfile.TemporaryDirectory(prefix="facefusion-", dir=snapshot.get(PathsSettings).temp_path) as folder:
        for case in cases:
            result = measure(
                case,
                runner,
                Path(folder),
                cycles=settings.benchmark_cycle_count,
                cold=settings.benchmark_mode == "cold",
            )
            results.append(result)
            if settings.benchmark_record_path is not None:
                entry = record(result, describe_machine(), settings.benchmark_mode, datetime.now(UTC))
                append_records(settings.benchmark_record_path, (entry,))
    context.write(table(results))
    return 0
