"""Files that broke, of every kind that the program reads: each is read as far as it can be, or refused in words."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def fuzz(tmp_path: Path, model_path: Callable[[str], Path]) -> Callable[[int, int], list[dict[str, Any]]]:
    """Reads so many damaged files, chosen by a seed, in a process of its own; what came out of each."""

    def run(count: int, seed: int) -> list[dict[str, Any]]:
        models = model_path("yunet").parent
        command = [sys.executable, "-m", "tests.fuzz.fuzz", str(tmp_path), str(models), str(count), str(seed)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        # The case that ends the process is the last one on its output.
        assert done.returncode == 0, f"{done.stdout[-200:]} {done.stderr[-5000:]}"
        return [json.loads(line) for line in (tmp_path / "cases.jsonl").read_text().splitlines()]

    return run


def check(cases: list[dict[str, Any]], count: int) -> None:
    assert len(cases) == count
    assert [case for case in cases if case["faults"]] == []
    codes = Counter(case["code"] for case in cases)
    # Neither refuses the program all that is damaged, nor takes it anything.
    assert min(codes[0], codes[1]) > count / 10


def test_one_of_each(fuzz: Callable[[int, int], list[dict[str, Any]]]) -> None:
    check(fuzz(32, 3), 32)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_many(fuzz: Callable[[int, int], list[dict[str, Any]]], seed: int) -> None:
    check(fuzz(1000, seed), 1000)
