"""The benchmark's table for people, and its record for comparison."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import cast

from facefusion.benchmark.measure import CaseResult
from facefusion.benchmark.settings import BenchmarkSettings
from facefusion.core.errors import OutputError
from facefusion.core.own_file import OwnFile
from facefusion.core.report import ThreadPlan

HEADINGS = (
    "target", "cycles", "frames", "frames/s", "lowest", "highest", "over floor",
    "cold start s", "warm start s", "command start s", "peak MiB", "video MiB",
)  # fmt: skip
NAME_COLUMNS = 1
"""Columns that are aligned to the left; numbers stand to the right."""
MEBIBYTE = 1 << 20
REMEDY = "Choose another --benchmark-record-path."
RECORDS = OwnFile("a record of benchmarks", re.compile(rb'\{"time": "[^"]*", "resolution": "'), REMEDY)


def table(results: Sequence[CaseResult]) -> str:
    """One row per clip, and below where its time goes, the parts of its floor, what it ran on and how it was divided.

    Seconds of stages are summed over threads.
    """
    rows = [
        (
            result.case.target.name,
            str(len(result.cycles)),
            str(result.last.frames),
            f"{result.frames_per_second:.2f}",
            f"{min(result.rates):.2f}",
            f"{max(result.rates):.2f}",
            f"{result.over_floor:.2f}",
            f"{result.cold_start:.2f}",
            _or_none(result.warm_start, ".2f"),
            f"{result.command_start:.2f}",
            f"{result.peak_memory / MEBIBYTE:.0f}",
            _or_none(result.peak_video_memory, ".0f", MEBIBYTE),
        )
        for result in results
    ]
    lines = _grid([HEADINGS, *rows])
    for result in results:
        lines += [f"{result.case.resolution} {line}" for line in _details(result)]
    return "\n".join(lines) + "\n"


def about_machine(machine: Mapping[str, object]) -> str:
    """What was measured on and with, in two lines.

    Args:
        machine: as :func:`facefusion.benchmark.machine.describe_machine` tells.
    """
    packages = cast("Mapping[str, str]", machine["packages"])
    cards = cast("Sequence[str]", machine["graphics"])
    memory = cast("int", machine["memory_bytes"]) / (1 << 30)
    parts = (machine["processor"], f"{machine['threads']} threads", f"{memory:.1f} GB", machine["system"], *cards)
    versions = {"facefusion": machine["facefusion"], "python": machine["python"], **packages}
    return (
        f"machine: {', '.join(map(str, parts))}\n"
        f"versions: {', '.join(f'{name} {version}' for name, version in versions.items())}\n"
    )


def _details(result: CaseResult) -> Iterator[str]:
    """Lines about one clip."""
    if result.stages:
        stages = _seconds(result.stages)
        waits = {name.removeprefix("wait "): seconds for name, seconds in result.waits.items()}
        if waits:
            stages += f", wait {sum(waits.values()):.2f} s ({_seconds(waits)})"
        yield f"by stage: {stages}"
    floor = {"transcode": result.floor.transcode, "kernels": result.floor.kernels, **result.floor.networks}
    parts = _seconds({name: seconds for name, seconds in floor.items() if seconds})
    over = f"{min(result.ratios):.2f} to {max(result.ratios):.2f} times that"
    yield f"floor: {result.floor.seconds:.2f} s ({parts}); cycles took {over}"
    yield f"models: {', '.join(f'{name} ({provider})' for name, provider in result.last.models.items())}"
    if result.last.threads is not None:
        yield f"threads: {_plan(result.last.threads)}"


def _plan(threads: ThreadPlan) -> str:
    gates = ", ".join(
        f"{'any number' if slots is None else slots} on {place}" for place, slots in threads.gates.items()
    )
    parts = (
        f"workers {threads.workers}",
        f"window {threads.window}",
        f"frames together {threads.together}",
        f"decoder threads {threads.decoder_threads}",
        f"threads of a graph {_per_graph(threads)}" if threads.graph_threads else "",
        f"graphs at once {gates}" if gates else "",
    )
    return ", ".join(part for part in parts if part)


def _per_graph(threads: ThreadPlan) -> str:
    counts = sorted(set(threads.graph_threads.values()))
    names = {count: [name for name, own in threads.graph_threads.items() if own == count] for count in counts}
    return ", ".join(f"{count} ({', '.join(names[count])})" if len(counts) > 1 else str(count) for count in counts)


def _seconds(parts: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {seconds:.2f} s" for name, seconds in parts.items())


def _or_none(value: float | None, form: str, unit: float = 1.0) -> str:
    return "-" if value is None else format(value / unit, form)


def record(
    result: CaseResult, machine: Mapping[str, object], settings: BenchmarkSettings, moment: datetime
) -> dict[str, object]:
    """What is kept of one clip's measurement, ready for JSON."""
    last = result.last
    return {
        "time": moment.isoformat(timespec="seconds"),
        "resolution": result.case.resolution,
        "name": settings.benchmark_name,
        "mode": settings.benchmark_mode,
        "seconds": [round(seconds, 4) for seconds in result.seconds],
        "frames": last.frames,
        "frames_per_second": [round(rate, 3) for rate in result.rates],
        "over_floor": [round(ratio, 4) for ratio in result.ratios],
        "start_up_seconds": [round(cycle.report.start_up_seconds, 4) for cycle in result.cycles],
        "cold_start_seconds": round(result.cold_start, 4),
        "command_start_seconds": round(result.command_start, 4),
        "floor": {
            "networks": {name: round(seconds, 4) for name, seconds in result.floor.networks.items()},
            "kernels": round(result.floor.kernels, 4),
            "transcode": round(result.floor.transcode, 4),
        },
        "stages": {name: round(seconds, 4) for name, seconds in (result.stages | result.waits).items()},
        "peak_memory_bytes": result.peak_memory,
        "peak_video_memory_bytes": result.peak_video_memory,
        "threads": None if last.threads is None else asdict(last.threads),
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
