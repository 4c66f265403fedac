"""The benchmark's table for people, and its record for comparison."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from facefusion.benchmark.measure import CaseResult
from facefusion.benchmark.settings import BenchmarkSettings
from facefusion.core.errors import OutputError
from facefusion.core.own_file import OwnFile

HEADINGS = ("target", "cycles", "frames/s", "lowest", "highest", "over floor", "start-up s", "peak MiB")
NAME_COLUMNS = 1
"""Columns that are aligned to the left; numbers stand to the right."""
REMEDY = "Choose another --benchmark-record-path."
RECORDS = OwnFile("a record of benchmarks", re.compile(rb'\{"time": "[^"]*", "resolution": "'), REMEDY)


def table(results: Sequence[CaseResult]) -> str:
    """One row per clip, and below where its time goes: the busy seconds of its stages, and the parts of its floor."""
    rows = [
        (
            result.case.target.name,
            str(len(result.cycles)),
            f"{result.frames_per_second:.2f}",
            f"{min(result.rates):.2f}",
            f"{max(result.rates):.2f}",
            f"{result.over_floor:.2f}",
            f"{result.start_up:.2f}",
            f"{result.peak_memory / 2**20:.0f}",
        )
        for result in results
    ]
    lines = _grid([HEADINGS, *rows])
    for result in results:
        if result.stages:
            stages = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in result.stages.items())
            lines.append(f"{result.case.resolution} by stage: {stages}")
        floor = {"transcode": result.floor.transcode, "kernels": result.floor.kernels, **result.floor.networks}
        parts = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in floor.items() if seconds)
        lines.append(f"{result.case.resolution} floor: {result.floor.seconds:.2f} s ({parts})")
    return "\n".join(lines) + "\n"


def record(
    result: CaseResult, machine: Mapping[str, object], settings: BenchmarkSettings, moment: datetime
) -> dict[str, object]:
    """What is kept of one clip's measurement, ready for JSON."""
    last = result.cycles[-1].report
    return {
        "time": moment.isoformat(timespec="seconds"),
        "resolution": result.case.resolution,
        "name": settings.benchmark_name,
        "mode": settings.benchmark_mode,
        "seconds": [round(seconds, 4) for seconds in result.seconds],
        "frames": last.frames,
        "frames_per_second": [round(rate, 3) for rate in result.rates],
        "over_floor": [round(cycle.over_floor, 4) for cycle in result.cycles],
        "start_up_seconds": [round(cycle.report.start_up_seconds, 4) for cycle in result.cycles],
        "floor": {
            "networks": {name: round(seconds, 4) for name, seconds in result.floor.networks.items()},
            "kernels": round(result.floor.kernels, 4),
            "transcode": round(result.floor.transcode, 4),
        },
        "stages": {name: round(seconds, 4) for name, seconds in result.stages.items()},
        "peak_memory_bytes": result.peak_memory,
        "models": dict(last.models),
        "machine": dict(machine),
    }


def append_records(path: Path, records: Sequence[Mapping[str, object]]) -> None:
    """Add each record as one line of JSON to a file, which is made where it is not there.

    Raises:
        UsageError: something else than records is there.
        OutputError: the file cannot be written.
    """
    try:
        with RECORDS.open_to_add(path) as file:
            file.writelines(f"{json.dumps(entry)}\n".encode("ascii") for entry in records)
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(f"cannot write the benchmark's record {path}: {reason}", REMEDY) from error


def _grid(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.ljust(width) if column < NAME_COLUMNS else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return [lines[0], "-" * len(lines[0]), *lines[1:]]
