"""Files that broke, of every kind that the program reads: each is read as far as it can be, or refused in words."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

MINUTES = float(os.environ.get("FACEFUSION_FUZZ_MINUTES", "60"))
"""That the long proof takes."""

Fuzz = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def fuzz(tmp_path: Path, model_path: Callable[[str], Path]) -> Fuzz:
    """Reads so many damaged files, chosen by a seed, in processes of their own; what came out of each.

    A file that ends the process is a case with a fault, and another process goes on behind it.
    """

    def run(count: int, seed: int, seconds: float = float("inf")) -> list[dict[str, Any]]:
        models = model_path("yunet").parent
        end, first, ended = time.monotonic() + seconds, 0, []
        while first < count and time.monotonic() < end:
            words = [tmp_path, models, first, count, seed, end - time.monotonic()]
            command = [sys.executable, "-m", "tests.fuzz.fuzz", *map(str, words)]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
            if done.returncode == 0:
                break
            begun = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"number"')]
            assert begun, f"{done.stdout[-200:]} {done.stderr[-5000:]}"
            last = {**begun[-1], "code": done.returncode, "said": done.stderr[-5000:]}
            (tmp_path / "last").rename(tmp_path / f"broken-{last['number']}-{Path(last['victim']).name}")
            ended.append({**last, "faults": ["the process ended"]})
            first = last["number"] + 1
        cases = [json.loads(line) for line in (tmp_path / "cases.jsonl").read_text().splitlines()]
        return [{**case, "seed": seed} for case in [*cases, *ended]]

    return run


def check(cases: list[dict[str, Any]]) -> None:
    assert [case for case in cases if case["faults"]] == []
    codes = Counter(case["code"] for case in cases)
    # Neither refuses the program all that is damaged, nor takes it anything.
    assert min(codes[0], codes[1]) > len(cases) / 10


def test_one_of_each(fuzz: Fuzz) -> None:
    cases = fuzz(80, 3)
    assert len(cases) == 80
    check(cases)


@pytest.mark.slow
def test_for_an_hour(fuzz: Fuzz) -> None:
    """Other files each time: what is broken lies in the test's folder, and is told with its seed."""
    check(fuzz(sys.maxsize, secrets.randbelow(1 << 32), MINUTES * 60))
