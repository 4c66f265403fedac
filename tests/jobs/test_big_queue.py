"""A jobs folder with very many jobs: what a command does for each of them does not grow with their number."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

from facefusion.cli.main import main
from facefusion.jobs.model import JobStatus
from facefusion.jobs.store import JobStore
from tests.cli.fakes import FakeApplication

COMMANDS: tuple[tuple[str, ...], ...] = (
    ("job-list", "drafted"),
    ("job-submit-all",),
    ("job-list", "queued"),
    ("job-run-all",),
    ("job-list", "completed"),
    ("job-delete-all",),
)
"""The life of a queue."""


class Calls:
    """Counts calls of functions, of Python's and of C's, in all threads begun meanwhile: work that no clock tells."""

    def __init__(self) -> None:
        self.number = 0

    def __enter__(self) -> Calls:
        threading.setprofile(self._count)
        sys.setprofile(self._count)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _count(self, frame: FrameType, event: str, argument: object) -> None:
        if event.endswith("call"):
            self.number += 1


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("source.jpg", "target.mp4"):
        Path(name).write_bytes(b"x")
    return tmp_path


def make_jobs(count: int) -> None:
    """Drafted jobs of one step each."""
    store = JobStore(Path(".jobs"))
    for number in range(count):
        args = {"source_paths": ["source.jpg"], "target_path": "target.mp4", "output_path": f"out/{number}.mp4"}
        store.create(f"job-{number}", [args])


def names(count: int) -> set[str]:
    return {f"job-{number}" for number in range(count)}


def live(count: int, call: Callable[..., str]) -> dict[tuple[str, ...], int]:
    """Have a queue live; calls made by each command, by its words."""
    make_jobs(count)
    made: dict[tuple[str, ...], int] = {}
    for words in COMMANDS:
        with Calls() as calls:
            said = call(*words)
        made[words] = calls.number
        if words[0] == "job-list":
            assert {line.split()[0] for line in said.splitlines()[1:]} == names(count)
        if words == ("job-run-all",):
            assert set(said.splitlines()) == {f"out/{number}.mp4" for number in range(count)}
    assert [path for status in JobStatus for path in Path(".jobs", status.value).iterdir()] == []
    return made


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    application = FakeApplication()

    def run(*words: str) -> str:
        Path("out").mkdir(exist_ok=True)
        assert main([*words, "--log-level", "error"], application) == 0
        return capsys.readouterr().out

    return run


def check_linear(few: int, many: int, call: Callable[..., str]) -> None:
    live(2, call)  # what is imported and remembered once is no part of it
    one, other, another = live(few, call), live(2 * few, call), live(many, call)
    for words in COMMANDS:
        each = (other[words] - one[words]) / few
        assert each > 10
        # Older jobs take a few calls more, to say when they were made.
        assert another[words] < 1.1 * (one[words] + each * (many - few)), words


def test_a_job_costs_the_same_however_many_there_are(call: Callable[..., str]) -> None:
    check_linear(10, 80, call)


@pytest.mark.slow
def test_ten_thousand_jobs(call: Callable[..., str]) -> None:
    check_linear(100, 10_000, call)
