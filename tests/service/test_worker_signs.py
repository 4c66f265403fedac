"""A worker finds out at its start whether it can sign what it may have to join."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.service

PROGRAM = Path(__file__).parents[2] / "facefusion.py"


@pytest.fixture
def worker(tmp_path: Path) -> Callable[[str], tuple[int, str]]:
    """Starts a worker whose local certificate cannot be made; nobody answers where its queue is to be."""
    (tmp_path / "trust").write_text("no folder")
    places = ("--storage-path", str(tmp_path / "storage"), "--trust-path", str(tmp_path / "trust"))

    def start(marking: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, str(PROGRAM), "worker", *places, "--marking", marking],
            env={**os.environ, "REDIS_URL": "redis://127.0.0.1:1/0"},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stderr

    return start


def test_a_worker_that_cannot_sign_does_not_begin(worker: Callable[[str], tuple[int, str]]) -> None:
    code, said = worker("full")
    assert code == 2
    assert "error: no local certificate can be made" in said
    assert "--trust-path" in said


def test_a_worker_that_is_not_to_sign_need_not_be_able_to(worker: Callable[[str], tuple[int, str]]) -> None:
    _, said = worker("metadata")
    assert "certificate" not in said
    assert "127.0.0.1:1" in said
