"""Many processes on one jobs folder, of which some are killed: no job is lost, none run twice, no file ever broken."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from facefusion.jobs.model import JobStatus, StepStatus
from facefusion.jobs.store import JobStore

ROOT = Path(__file__).parents[2]


class Crowd:
    """Processes that take turns on one folder.

    Args:
        folder: of the jobs folder and the logs.
        seed: of what they do, and of who is killed when.
        turns: that each of them takes.
    """

    def __init__(self, folder: Path, seed: int, turns: int) -> None:
        self._folder = folder
        self._random = random.Random(seed)
        self._turns = turns
        self._count = 0
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.killed: set[str] = set()
        (folder / "working").mkdir()

    @property
    def root(self) -> Path:
        return self._folder / "jobs"

    def join(self, number: int) -> None:
        """Have so many more processes take part."""
        for _ in range(number):
            name = f"p{self._count}"
            self._count += 1
            words = (str(self.root), name, str(self._random.randrange(2**32)), str(self._turns))
            command = [sys.executable, "-m", "tests.jobs.hammer", *words]
            self.running[name] = subprocess.Popen(command, cwd=ROOT)

    def kill_one(self) -> None:
        """Kill one that is at work, if any is."""
        at_work = [name for name in sorted(self.running) if self._log(name) and self.running[name].poll() is None]
        if at_work:
            name = self._random.choice(at_work)
            time.sleep(self._random.random() / 50)
            self.running[name].kill()
            self.killed.add(name)
            self.running[name].wait()

    def is_over(self) -> bool:
        return all(process.poll() is not None for process in self.running.values())

    def said(self, word: str) -> Counter[tuple[str, ...]]:
        """What the processes logged."""
        lines = [line.split() for name in self.running for line in self._log(name)]
        return Counter(tuple(line[1:]) for line in lines if line[0] == word)

    def _log(self, name: str) -> list[str]:
        path = self._folder / f"{name}.log"
        return path.read_text().splitlines() if path.exists() else []


def look(root: Path) -> int:
    """Read every job's file, each of which has to be whole; their number."""
    files = 0
    for path in (path for status in JobStatus for path in sorted((root / status.value).glob("*.json"))):
        try:
            data = path.read_bytes()
        except FileNotFoundError:  # moved meanwhile
            continue
        assert json.loads(data)["version"] == "1", path
        files += 1
    return files


def run(folder: Path, seed: int, *, processes: int, turns: int, kills: int) -> None:
    crowd = Crowd(folder, seed, turns)
    crowd.join(processes)
    looks = 0
    while not crowd.is_over():
        looks += look(crowd.root) if crowd.root.exists() else 0
        if len(crowd.killed) < kills:
            before = len(crowd.killed)
            crowd.kill_one()
            crowd.join(len(crowd.killed) - before)
    assert looks > 0
    assert len(crowd.killed) == kills
    assert {process.returncode for name, process in crowd.running.items() if name not in crowd.killed} == {0}
    check(crowd)


def check(crowd: Crowd) -> None:
    store = JobStore(crowd.root)
    scans = {status: store.scan(status) for status in JobStatus}
    assert [fault for scan in scans.values() for fault in scan.faults] == []
    jobs = [job for scan in scans.values() for job in scan.jobs]
    found = {job.id: job for job in jobs}
    assert len(found) == len(jobs)

    created, deleted = set(crowd.said("created")), set(crowd.said("deleting"))
    assert {(job_id,) for job_id in found} >= created - deleted
    unlogged = {job_id for job_id in found if (job_id,) not in created}
    assert {job_id.split("-")[0] for job_id in unlogged} <= crowd.killed

    for (job_id, mark), times in crowd.said("added").items():
        assert times == 1
        if job_id in found:
            assert [step.args["mark"] for step in found[job_id].steps].count(mark) == 1
    assert not crowd.said("twice")
    assert set(crowd.said("done").values()) <= {1}
    assert set(crowd.said("completed").values()) == {1}
    for (job_id,) in crowd.said("completed"):
        assert job_id not in found or found[job_id].status is JobStatus.COMPLETED
    for job in scans[JobStatus.COMPLETED].jobs:
        assert {step.status for step in job.steps} == {StepStatus.COMPLETED}
    assert not any(job.has_started_step for job in jobs)


def test_a_few(tmp_path):
    run(tmp_path, 1, processes=4, turns=40, kills=3)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_many(tmp_path, seed):
    run(tmp_path, seed, processes=8, turns=250, kills=40)
