"""What the commands of the fleet say where it cannot be had. With one they are tested in tests/service."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WITHOUT_PACKAGES = """
import sys
sys.modules |= dict.fromkeys(("celery", "kombu", "prometheus_client", "redis"))
from facefusion.cli.main import main
raise SystemExit(main(sys.argv[1:]))
"""
PATTERNS = ("-t", "*.jpg", "-o", "out-{target_name}.jpg")


def run(folder, *words, **environment):
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_PACKAGES, *words],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), **environment},
        text=True,
        capture_output=True,
        check=False,
    )


@pytest.mark.parametrize("words", [("worker",), ("submit", *PATTERNS)], ids=["worker", "submit"])
def test_without_packages_a_command_says_what_to_install(tmp_path, words):
    (tmp_path / "a.jpg").touch()
    done = run(tmp_path, *words, REDIS_URL="redis://127.0.0.1:1/0")
    assert done.returncode == 2
    assert "is not installed" in done.stderr
    assert "python -m pip install -r requirements-service.txt" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [("worker",), ("submit", *PATTERNS)], ids=["worker", "submit"])
def test_without_a_queue_a_command_says_how_to_name_one(tmp_path, words):
    done = run(tmp_path, *words)
    assert done.returncode == 2
    assert done.stderr.strip().endswith(
        "error: no queue is named. Set REDIS_URL or --redis-url to where the fleet's Redis is: redis://HOST:6379/0."
    )
