"""A process that makes, queues, runs and retries jobs until it is killed. What must not happen is left as a file.

``python -m tests.jobs.killed_worker FOLDER SEED``
"""

from __future__ import annotations

import contextlib
import os
import random
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import filelock

from facefusion.core.errors import JobError
from facefusion.core.stop import StopToken
from facefusion.jobs.model import Job, StepStatus
from facefusion.jobs.runner import JobRunner
from facefusion.jobs.store import JobStore
from facefusion.jobs.work import StepResult, StepTask
from tests.jobs.fake_work import FakeListener, join, write

STEP_SECONDS = 0.02
FAULTY = 0.15
"""How often a step fails."""

Steps = list[Mapping[str, object]]


def steps(*pairs: tuple[str, str]) -> Steps:
    return [
        {"target_path": target, "output_path": output, "mark": str(index)}
        for index, (target, output) in enumerate(pairs)
    ]


KINDS: dict[str, Callable[[str], Steps]] = {
    "lone": lambda place: steps(("a.mp4", f"{place}/r.mp4"), ("b.mp4", f"{place}/s.mp4")),
    "join": lambda place: steps(("a.mp4", f"{place}/r.mp4"), ("b.mp4", f"{place}/r.mp4"), ("a.mp4", f"{place}/r.mp4")),
    "chain": lambda place: steps(
        ("a.mp4", f"{place}/r.mp4"), (f"{place}/r-{Path(place).name}-0.mp4", f"{place}/r.mp4")
    ),
    "fork": lambda place: steps(("a.mp4", f"{place}/r.mp4"), (f"{place}/r-{Path(place).name}-0.mp4", f"{place}/s.mp4")),
}
RESULTS = {
    "lone": {"r.mp4": "0(a)", "s.mp4": "1(b)"},
    "join": {"r.mp4": "0(a) + 1(b) + 2(a)"},
    "chain": {"r.mp4": "1(0(a))"},
    "fork": {"r.mp4": "0(a)", "s.mp4": "1(0(a))"},
}
"""What lies in the folder of a job of each kind when it is complete."""


class WatchedStore(JobStore):
    """Marks each step as complete once that is written down."""

    def save(self, job: Job) -> Job:
        saved = super().save(job)
        for index, step in enumerate(job.steps):
            if step.status is StepStatus.COMPLETED:
                Path("completed", f"{job.id}-{index}").touch()
        return saved


class WatchedWork:
    """Does steps, and sees whether another process does the same one, or one did before."""

    def __init__(self, chance: random.Random, faulty: float) -> None:
        self._chance = chance
        self._faulty = faulty

    def __call__(self, task: StepTask) -> StepResult:
        name = f"{task.job_id}-{task.index}"
        os.close(os.open(Path("begun", f"{name}-{os.getpid()}-{time.monotonic_ns()}"), os.O_CREAT | os.O_EXCL))
        if Path("completed", name).exists():
            Path("violations", f"{name} was done again").touch()
        try:
            with filelock.FileLock(Path("running", name), blocking=False):
                time.sleep(STEP_SECONDS)
                if self._chance.random() < self._faulty:
                    return StepResult("by chance", is_whole=False)
                assert task.file is not None
                return write_whole(task)
        except filelock.Timeout:
            Path("violations", f"{name} was run twice at once").touch()
            raise


def write_whole(task: StepTask) -> StepResult:
    """As the engine does it: all of the file or nothing."""
    assert task.file is not None
    part = task.file.with_name(f".{task.file.name}.{os.getpid()}.part")
    file = task.file
    result = write(StepTask(task.job_id, task.index, task.count, task.step, task.target, task.output, part))
    part.replace(file)
    return result


def runner(chance: random.Random, faulty: float = FAULTY) -> JobRunner:
    return JobRunner(WatchedStore(Path("jobs")), WatchedWork(chance, faulty), join, FakeListener(), StopToken())


def submit(store: JobStore, chance: random.Random, number: int) -> None:
    kind = chance.choice(list(KINDS))
    job_id = f"{kind}-{os.getpid()}-{number}"
    place = Path("out", job_id)
    place.mkdir()
    store.create(job_id, KINDS[kind](str(place)))
    store.submit(job_id)
    Path("submitted", job_id).touch()


def main(folder: str, seed: str) -> None:
    os.chdir(folder)
    chance = random.Random(int(seed))
    worker = runner(chance)
    number = 0
    while True:
        number += 1
        with contextlib.suppress(JobError):  # another process was quicker
            match chance.randrange(4):
                case 0:
                    submit(worker.store, chance, number)
                case 1:
                    worker.retry_all()
                case _:
                    worker.run_all()


if __name__ == "__main__":
    main(*sys.argv[1:])
