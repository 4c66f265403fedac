"""Many processes on one jobs folder, killed at random: no job is lost, none is done twice, all come to their end."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from facefusion.jobs.model import JobStatus
from tests.jobs import killed_worker

REPOSITORY = Path(__file__).parents[2]
WORKERS = 4


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("out", "submitted", "begun", "completed", "running", "violations"):
        Path(name).mkdir()
    for name in ("a", "b"):
        Path(f"{name}.mp4").write_text(name)
    return tmp_path


def start(folder: Path, seed: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.jobs.killed_worker", str(folder), str(seed)],
        cwd=REPOSITORY,
        stderr=subprocess.PIPE,
    )


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a worker, which must not have ended by itself."""
    process.kill()
    _, said = process.communicate()
    assert process.returncode < 0 or sys.platform == "win32", said.decode()
    assert said == b"", said.decode()


def run_and_kill(folder: Path, kills: int) -> None:
    """Kill a process whenever some more steps were begun, at any moment of what it does then."""
    chance = random.Random(7)
    workers = [start(folder, seed) for seed in range(WORKERS)]
    begun = 0
    for seed in range(WORKERS, WORKERS + kills):
        begun += chance.randrange(1, 8)
        while len(list(Path("begun").iterdir())) < begun:
            assert all(worker.poll() is None for worker in workers)
            time.sleep(0.001)
        time.sleep(chance.uniform(0.0, killed_worker.STEP_SECONDS))
        victim = chance.randrange(WORKERS)
        kill(workers[victim])
        workers[victim] = start(folder, seed)
    for worker in workers:
        kill(worker)


def check() -> None:
    assert [path.name for path in Path("violations").iterdir()] == []
    last = killed_worker.runner(random.Random(0), faulty=0.0)
    submitted = {path.name for path in Path("submitted").iterdir()}
    last.run_all()
    last.retry_all()
    assert [path.name for path in Path("violations").iterdir()] == []
    jobs = {status: {job.id for job in last.store.list(status)} for status in JobStatus}
    assert jobs[JobStatus.QUEUED] == jobs[JobStatus.FAILED] == set()
    assert submitted <= jobs[JobStatus.COMPLETED]
    for job_id in jobs[JobStatus.COMPLETED]:
        kind = job_id.split("-")[0]
        found = {path.name: path.read_text() for path in Path("out", job_id).iterdir() if path.suffix != ".part"}
        assert found == killed_worker.RESULTS[kind], job_id


def test_jobs_survive_kills(folder: Path) -> None:
    run_and_kill(folder, kills=15)
    check()


@pytest.mark.slow
def test_jobs_survive_many_kills(folder: Path) -> None:
    run_and_kill(folder, kills=400)
    check()
