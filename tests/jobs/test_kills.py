"""Many processes on one jobs folder, killed at random: no job is lost, none is done twice, all come to their end."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from facefusion.catalogue.store import ModelStore
from facefusion.jobs.model import JobStatus, StepStatus
from facefusion.jobs.store import JobStore
from tests.jobs import killed_worker
from tests.media.clips import times_of

REPOSITORY = Path(__file__).parents[2]
WORKERS = 4
SECONDS = 300.0
"""Longer than anything here takes on a busy machine; what takes longer hangs."""


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
    try:
        for seed in range(WORKERS, WORKERS + kills):
            begun += chance.randrange(1, 8)
            patience = time.monotonic() + SECONDS
            while len(list(Path("begun").iterdir())) < begun:
                assert all(worker.poll() is None for worker in workers)
                assert time.monotonic() < patience, "nobody begins a step"
                time.sleep(0.001)
            time.sleep(chance.uniform(0.0, killed_worker.STEP_SECONDS))
            victim = chance.randrange(WORKERS)
            kill(workers[victim])
            workers[victim] = start(folder, seed)
        for worker in workers:
            kill(worker)
    finally:
        for worker in workers:
            worker.kill()


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


def facefusion(*words: str, folder: Path) -> subprocess.Popen[str]:
    paths = ("--jobs-path", str(folder / "jobs"), "--log-level", "warn")
    command = [sys.executable, "facefusion.py", *words, *paths]
    return subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(*words: str, folder: Path) -> tuple[int, str, str]:
    process = facefusion(*words, folder=folder)
    out, err = ended(process)
    return process.returncode, out, err


def ended(process: subprocess.Popen[str]) -> tuple[str, str]:
    """What a process wrote until it ended by itself."""
    try:
        return process.communicate(timeout=SECONDS)
    finally:
        process.kill()


def has_segment(temp: Path) -> bool:
    """Whether a segment lies in one of the work folders, which come and go meanwhile."""
    try:
        return any(temp.rglob("segment-*"))
    except FileNotFoundError:  # that of the first video was removed between being listed and being looked into
        return False


def queue_halves(folder: Path, job_id: str) -> Path:
    """A job that works on the two halves of a clip and joins them."""
    output = folder / f"{job_id}.mp4"
    assert run("job-create", job_id, folder=folder)[0] == 0
    for start, end in ((0, 45), (45, 90)):
        words = ("-s", "assets/demo/source.jpg", "-t", "assets/benchmark/target-240p.mp4", "-o", str(output))
        trim = ("--trim-frame-start", str(start), "--trim-frame-end", str(end))
        assert run("job-add-step", job_id, *words, *trim, folder=folder) == (0, "", "")
    assert run("job-submit", job_id, folder=folder)[0] == 0
    return output


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal")
def test_a_job_that_is_asked_to_end_in_its_second_video_goes_on_to_the_same_result(
    folder: Path, embedded_models: ModelStore
) -> None:
    undisturbed, output = queue_halves(folder, "calm"), queue_halves(folder, "torn")
    assert run("job-run", "calm", folder=folder) == (0, f"{undisturbed}\n", "")
    temp = folder / "temp"
    temp.mkdir()
    own = folder / "torn-torn-0.mp4"
    process = facefusion("job-run", "torn", "--temp-path", str(temp), folder=folder)
    file = folder / "jobs/queued/torn.json"
    patience = time.monotonic() + SECONDS
    while not (file.read_text().count('"started"') and own.exists() and has_segment(temp)):
        assert process.poll() is None
        assert time.monotonic() < patience, "the second video is not begun"
        time.sleep(0.001)
    first = own.stat().st_mtime_ns
    process.send_signal(signal.SIGTERM)
    out, err = ended(process)
    assert (process.returncode, out) == (4, "")
    assert err == (
        "Stopping; once more to end at once.\n"
        "Stopped by a request to end (SIGTERM); the job torn stays queued, and job-run torn goes on with it.\n"
    )
    job = JobStore(folder / "jobs").find("torn")
    assert job.status is JobStatus.QUEUED
    assert [step.status for step in job.steps] == [StepStatus.COMPLETED, StepStatus.QUEUED]
    assert not output.exists()
    assert own.stat().st_mtime_ns == first
    assert run("job-run", "torn", "--temp-path", str(temp), folder=folder)[:2] == (0, f"{output}\n")
    assert output.read_bytes() == undisturbed.read_bytes()
    assert [len(times_of(path)) for path in (output, REPOSITORY / "assets/benchmark/target-240p.mp4")] == [90, 90]
    assert sorted(path.name for path in folder.glob("*.mp4")) == ["a.mp4", "b.mp4", "calm.mp4", "torn.mp4"]
