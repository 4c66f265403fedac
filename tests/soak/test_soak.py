"""A thousand short jobs of every kind in one process: what the process holds does not grow."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tests.soak.scenery import make_scenery

ROOT = Path(__file__).parents[2]
SETTINGS = "[paths]\nmodels_path = models\ntemp_path = temp\njobs_path = jobs\n[logging]\nlog_level = warn\n"
MOST_BYTES_PER_JOB = 10_000

Census = dict[str, Any]


@pytest.fixture
def soak(tmp_path: Path, model_path: Callable[[str], Path]) -> Callable[..., list[Census]]:
    """Runs errands in a process of their own; the census after each round."""

    def run(*words: str) -> list[Census]:
        make_scenery(tmp_path, model_path("yunet").parent)
        (tmp_path / "facefusion.ini").write_text(SETTINGS)
        command = [sys.executable, "-m", "tests.soak.soak", str(tmp_path), *words]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-5000:]
        assert "defect" not in done.stderr
        return [json.loads(line) for line in (tmp_path / "censuses.jsonl").read_text().splitlines()]

    return run


def slope(points: Sequence[tuple[float, float]]) -> float:
    """The median of the slopes between all pairs of points, which a few points that stand out do not change."""
    return median((after - before) / (later - earlier) for (earlier, before), (later, after) in combinations(points, 2))


def check_nothing_is_left(censuses: Sequence[Census]) -> None:
    """Compare rounds that all end in the same state."""
    first = censuses[0]
    for census in censuses:
        assert census["left"] == []
        assert census["sessions"] == census["kept"] == first["sessions"]
        assert census["threads"] == first["threads"]
        assert census["system_threads"] == first["system_threads"]
        assert census["files"] == first["files"]


def objects_grown(first: Census, last: Census) -> dict[str, int]:
    """Types of which there are more for every second job."""
    least = (last["runs"] - first["runs"]) // 2
    grown = {name: number - first["objects"].get(name, 0) for name, number in last["objects"].items()}
    return {name: number for name, number in grown.items() if number >= least}


def test_the_slope_is_that_of_most_points():
    assert slope([(0, 5.0), (1, 7.0), (2, 900.0), (3, 11.0), (4, 13.0), (5, 15.0), (6, 17.0)]) == 2.0


def test_a_few_rounds_leave_nothing(soak: Callable[..., list[Census]]) -> None:
    _, first, last = soak("3", "5", "3", "traced")
    jobs = last["runs"] - first["runs"]
    assert jobs >= 15
    check_nothing_is_left([first, last])
    assert objects_grown(first, last) == {}
    assert last["traced"] - first["traced"] < MOST_BYTES_PER_JOB / 2 * jobs
    assert last["loaded"] == first["loaded"]


@pytest.mark.slow
def test_a_thousand_jobs_leave_nothing(soak: Callable[..., list[Census]]) -> None:
    censuses = soak("23", "1", "1")
    assert censuses[-1]["runs"] >= 1000
    last = [census for census in censuses if census["runs"] >= censuses[-1]["runs"] - 800]
    check_nothing_is_left(last)
    assert objects_grown(last[0], last[-1]) == {}
    assert slope([(census["runs"], census["resident"]) for census in last]) < MOST_BYTES_PER_JOB
