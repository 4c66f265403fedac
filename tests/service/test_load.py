"""A small form of the load that ``scripts/load_test_service.py`` puts on the service: nothing fails, all is told."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.service

ROOT = Path(__file__).parents[2]
PHOTO = ROOT / "assets" / "benchmark" / "source.jpg"
PARTS = (
    "two uploads, each looked into",
    "queueing the job",
    "until a worker began it",
    "until that was done",
    "from queueing to the end",
    "fetching the result",
)


@pytest.mark.parametrize("workers", [0, 2])
def test_jobs_of_several_clients_all_come_to_their_end(embedded_models, model_path, monkeypatch, workers):
    monkeypatch.setenv("FACEFUSION_MODELS_PATH", str(model_path("yunet").parent))
    words = ["--jobs", "10", "--clients", "2", "--workers", str(workers), "--target", str(PHOTO)]
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "load_test_service.py"), *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(rf"^10 jobs, 2 clients, {workers} workers: \d+ s, errors: 0$", done.stdout, re.MULTILINE)
    for part in PARTS:
        row = re.search(rf"^\| {part} \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", done.stdout, re.MULTILINE)
        assert row is not None, done.stdout
        median, high, most = map(float, row.groups())
        assert 0 <= median <= high <= most
