"""A process that uses a jobs folder as hard as it can, until it is killed or has done its turns.

It writes a line to its log after each thing that it did, and before it begins to delete: what the log says is what
has to be true of the folder in the end.
"""

from __future__ import annotations

import contextlib
import os
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from facefusion.core.errors import JobError
from facefusion.jobs.model import Job, JobStatus, StepStatus
from facefusion.jobs.store import JobStore

ARGS = {"output_path": "a.mp4"}
GONE_SECONDS = 20.0
"""Longer than the system takes to take notice of a killed process."""


class Hammer:
    """What one process does.

    Args:
        root: the jobs folder.
        name: of the process; its jobs begin with it.
        seed: of what it does.
    """

    def __init__(self, root: Path, name: str, seed: int) -> None:
        self._store = JobStore(root)
        self._name = name
        self._random = random.Random(seed)
        self._log = (root.parent / f"{name}.log").open("a")
        self._working = root.parent / "working"
        self._made = 0
        self._marks = 0

    def turn(self) -> None:
        """Do one thing; that another process was quicker is no fault."""
        act = self._random.choice(
            2 * [self._create, self._add, self._submit, self._run] + [self._insert, self._retry, self._delete]
        )
        with contextlib.suppress(JobError):
            act()

    def _say(self, *words: str) -> None:
        self._log.write(" ".join(words) + "\n")
        self._log.flush()

    def _mark(self) -> str:
        self._marks += 1
        return f"{self._name}:{self._marks}"

    def _any(self, status: JobStatus) -> Job:
        jobs = self._store.list(status)
        if not jobs:
            raise JobError("there is none")
        return self._random.choice(jobs)

    def _create(self) -> None:
        self._made += 1
        job_id = f"{self._name}-{self._made}"
        self._store.create(job_id, [{**ARGS, "mark": self._mark()} for _ in range(self._random.randint(0, 2))])
        self._say("created", job_id)

    def _add(self) -> None:
        job = self._any(self._random.choice([JobStatus.DRAFTED, JobStatus.QUEUED, JobStatus.FAILED]))
        mark = self._mark()
        self._store.add_step(job.id, {**ARGS, "mark": mark})
        self._say("added", job.id, mark)

    def _insert(self) -> None:
        job = self._any(JobStatus.DRAFTED)
        mark = self._mark()
        self._store.insert_step(job.id, self._random.randint(-1, 1), {**ARGS, "mark": mark})
        self._say("added", job.id, mark)

    def _submit(self) -> None:
        self._store.submit(self._any(JobStatus.DRAFTED).id)

    def _retry(self) -> None:
        with self._store.hold(self._any(JobStatus.FAILED).id) as job:
            if job.status is JobStatus.FAILED:
                self._store.move(job, JobStatus.QUEUED)

    def _delete(self) -> None:
        job = self._any(self._random.choice(list(JobStatus)))
        self._say("deleting", job.id)
        self._store.delete(job.id)

    def _run(self) -> None:
        with self._store.hold(self._any(JobStatus.QUEUED).id) as held:
            job = held
            if job.status is not JobStatus.QUEUED:
                return
            with self._alone_at_work(job.id):
                for index, step in enumerate(job.steps):
                    if step.status is not StepStatus.COMPLETED:
                        job = self._store.save(job.with_step(index, status=StepStatus.STARTED))
                        job = self._store.save(job.with_step(index, status=StepStatus.COMPLETED))
                        self._say("done", job.id, str(step.args["mark"]))
            fails = self._random.random() < 0.2
            self._store.move(job, JobStatus.FAILED if fails else JobStatus.COMPLETED)
            if not fails:
                self._say("completed", job.id)

    @contextlib.contextmanager
    def _alone_at_work(self, job_id: str) -> Iterator[None]:
        """A second guard, independent of the store's: nobody alive works on the job."""
        path = self._working / job_id
        patience = time.monotonic() + GONE_SECONDS
        while path.exists() and _is_alive(int(path.read_text() or 0)):
            if time.monotonic() > patience:
                self._say("twice", job_id)
                break
        path.write_text(str(os.getpid()))
        yield
        path.unlink()


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return pid != 0


def main(root: str, name: str, seed: str, turns: str) -> None:
    """Take as many turns as asked for."""
    hammer = Hammer(Path(root), name, int(seed))
    for _ in range(int(turns)):
        hammer.turn()


if __name__ == "__main__":
    main(*sys.argv[1:])
