"""Comparing a measurement with one that was kept."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Self, cast

from facefusion.benchmark.measure import CaseResult
from facefusion.benchmark.settings import LAST
from facefusion.core.errors import SetupError, UsageError

TOLERANCE = 0.1
"""A run that takes this share longer than before, over its floor, is said to be slower: less may be noise."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What is compared of a record."""

    name: str
    """Given by the user; empty where none was."""
    time: str
    resolution: str
    over_floor: float
    """Median of its cycles."""

    @classmethod
    def of(cls, record: Mapping[str, object]) -> Self:
        """Read a record.

        Raises:
            KeyError, TypeError, ValueError: it is none.
        """
        return cls(
            str(record.get("name", "")),
            str(record["time"]),
            str(record["resolution"]),
            median(float(ratio) for ratio in cast("Sequence[float]", record["over_floor"])),
        )


def read_baseline(path: Path, name: str) -> dict[str, Kept]:
    """The newest record of each clip that has a name, or of whatever name.

    Args:
        path: of the records; a file that is not there holds none.
        name: given to a measurement, or :data:`LAST`.

    Raises:
        SetupError: a line is no record, or the file cannot be read.
        UsageError: no record has the name.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        lines = []
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(
            f"cannot read the benchmark's records {path}: {error}", "Choose another --benchmark-record-path."
        ) from error
    kept = [_parsed(line, f"{path}, line {number}") for number, line in enumerate(lines, start=1) if line.strip()]
    found = {one.resolution: one for one in kept if name in (LAST, one.name)}
    if not found and name != LAST:
        names = ", ".join(sorted({one.name for one in kept if one.name}))
        raise UsageError(
            f"{path} holds no record named {name!r}", f"Those there are: {names}." if names else "None has a name."
        )
    return found


def verdicts(results: Sequence[CaseResult], baseline: Mapping[str, Kept]) -> list[str]:
    """How each clip that was measured before did against that time; a sentence each."""
    return [
        _verdict(result, kept)
        for result in results
        if (kept := baseline.get(result.case.resolution)) is not None and kept.over_floor > 0
    ]


def _verdict(result: CaseResult, kept: Kept) -> str:
    change = result.over_floor / kept.over_floor - 1
    words = "slower than" if change > TOLERANCE else "faster than" if change < -TOLERANCE else "as fast as"
    return (
        f"{result.case.resolution} is {words} {kept.name or kept.time}: {result.over_floor:.2f} times its floor, then "
        f"{kept.over_floor:.2f} ({change:+.0%})"
    )


def _parsed(line: str, where: str) -> Kept:
    try:
        return Kept.of(json.loads(line))
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise SetupError(
            f"{where} is no record of this version's benchmark", "Choose another --benchmark-record-path."
        ) from error
