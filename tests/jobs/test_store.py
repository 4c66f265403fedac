from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import filelock
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from facefusion.core.errors import JobBusyError, JobError, OutputError, Stopped, UsageError
from facefusion.core.stop import StopToken
from facefusion.jobs.model import JobStatus, StepStatus
from facefusion.jobs.store import DIED, JobStore
from facefusion.observability.events import Notice

ROOT = Path(__file__).parents[2]
ARGS = {"target_path": "t.mp4", "output_path": "out/a.mp4"}
START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class Clock:
    """Each look at it is a second later than the last."""

    def __init__(self) -> None:
        self._seconds = count()

    def __call__(self) -> datetime:
        return START + timedelta(seconds=next(self._seconds))


class Listener:
    def __init__(self) -> None:
        self.warnings: list[str] = []

    def emit(self, event) -> None:
        assert isinstance(event, Notice)
        assert event.warning
        self.warnings.append(event.message)


@pytest.fixture
def root(tmp_path):
    return tmp_path / "jobs"


@pytest.fixture
def listener():
    return Listener()


@pytest.fixture
def store(root, listener):
    return JobStore(root, listener, Clock())


def message_of(act, kind=JobError):
    with pytest.raises(kind) as caught:
        act()
    assert type(caught.value) is kind
    return str(caught.value)


def files_of(root):
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file() and path.suffix != ".lock")


def submitted(store, job_id="demo", steps=1):
    store.create(job_id, [ARGS] * steps)
    return store.submit(job_id)


def test_a_job_goes_from_draft_to_completion(store, root):
    made = store.create("demo")
    assert (made.id, made.status, made.created, made.updated, made.steps) == (
        "demo",
        JobStatus.DRAFTED,
        START,
        None,
        (),
    )
    assert files_of(root) == ["drafted/demo.json"]
    assert store.add_step("demo", ARGS).steps[0].args == ARGS
    job = store.submit("demo")
    assert (job.status, job.steps[0].status) == (JobStatus.QUEUED, StepStatus.QUEUED)
    assert files_of(root) == ["queued/demo.json"]
    with store.hold("demo") as job:
        started = store.save(job.with_step(0, status=StepStatus.STARTED))
        assert store.find("demo") == started
        store.move(started.with_step(0, status=StepStatus.COMPLETED), JobStatus.COMPLETED)
    assert files_of(root) == ["completed/demo.json"]
    assert store.find("demo").steps[0].status is StepStatus.COMPLETED


def test_looking_makes_no_folder(store, root):
    assert store.list(JobStatus.FAILED) == ()
    assert message_of(lambda: store.find("demo")) == "there is no job demo. job-list shows those of each status."
    assert message_of(lambda: store.submit("a/b"), UsageError).startswith("the job id 'a/b' holds what")
    assert not root.exists()


def test_a_folder_whose_name_is_a_pattern(tmp_path):
    store = JobStore(tmp_path / "[a]*?" / "{b}")
    submitted(store, "x[1]")
    assert [job.id for job in store.list(JobStatus.QUEUED)] == ["x[1]"]


@pytest.mark.parametrize("status", list(JobStatus))
def test_an_id_is_taken_whatever_the_status(store, status):
    job = store.create("demo", [ARGS])
    if status is not JobStatus.DRAFTED:
        store.move(job, status)
    message = message_of(lambda: store.create("demo"))
    assert message == f"there is a job demo already ({status.value}). Choose another id."


def test_ids_made_of_the_time_differ(root):
    store = JobStore(root, now=lambda: START)
    assert [store.create_timed("batch", [ARGS]).id for _ in range(3)] == [
        "batch-2026-01-02-03-04-05",
        "batch-2026-01-02-03-04-05-2",
        "batch-2026-01-02-03-04-05-3",
    ]


def test_only_a_draft_with_steps_is_submitted(store):
    store.create("demo")
    assert message_of(lambda: store.submit("demo")) == (
        "the job demo cannot be submitted: it has no steps. Add one with job-add-step."
    )
    store.add_step("demo", ARGS)
    store.submit("demo")
    assert message_of(lambda: store.submit("demo")) == (
        "the job demo cannot be submitted: it is queued. Run it with job-run demo."
    )
    store.move(store.find("demo"), JobStatus.FAILED)
    assert message_of(lambda: store.submit("demo")) == (
        "the job demo cannot be submitted: it is failed. Run it again with job-retry demo."
    )


def test_the_queue_is_in_the_order_of_submission(store):
    for name in "cab":
        store.create(name, [ARGS])
    for name in "bca":
        store.submit(name)
    store.add_step("b", ARGS)
    assert [job.id for job in store.list(JobStatus.QUEUED)] == ["b", "c", "a"]


def test_a_completed_job_is_not_changed(store):
    store.move(submitted(store), JobStatus.COMPLETED)
    for change in (
        lambda: store.add_step("demo", ARGS),
        lambda: store.remix_step("demo", 0, ARGS),
        lambda: store.insert_step("demo", 0, ARGS),
        lambda: store.remove_step("demo", 0),
    ):
        assert message_of(change) == "the job demo cannot be changed: it is completed. Make another job."


def test_what_another_part_holds_is_neither_changed_deleted_nor_run(store, root):
    submitted(store)
    with JobStore(root).hold("demo"):
        assert store.is_held("demo")
        for what, act in (
            ("changed", lambda: store.add_step("demo", ARGS)),
            ("changed", lambda: store.remove_step("demo", 0)),
            ("deleted", lambda: store.delete("demo")),
            ("run", lambda: store.hold("demo").__enter__()),
        ):
            assert message_of(act, JobBusyError) == (
                f"the job demo cannot be {what}: another process runs it. Wait for it, or stop it."
            )
    assert not store.is_held("demo")
    assert store.add_step("demo", ARGS).steps[1].status is StepStatus.QUEUED
    assert [path.name for path in (root / ".locks").iterdir()] == [".folder.lock"]


def test_a_right_ends_with_an_error(store):
    submitted(store)
    with pytest.raises(KeyError), store.hold("demo"):
        raise KeyError
    assert not store.is_held("demo")


@pytest.mark.parametrize("how", ["find", "list queued", "list failed", "hold", "submit", "add", "delete"])
def test_a_job_whose_process_died_is_put_down_as_failed_by_whoever_looks(store, root, listener, how):
    submitted(store, steps=2)
    code = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from facefusion.jobs.model import StepStatus\n"
        "from facefusion.jobs.store import JobStore\n"
        "store = JobStore(Path(sys.argv[1]))\n"
        "with store.hold('demo') as job:\n"
        "    store.save(job.with_step(0, status=StepStatus.STARTED))\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    died = subprocess.run([sys.executable, "-c", code, str(root)], cwd=ROOT, check=False)
    assert died.returncode not in (0, 1)
    if how == "find":
        assert store.find("demo").status is JobStatus.FAILED
    elif how == "list queued":
        assert store.list(JobStatus.QUEUED) == ()
    elif how == "list failed":
        assert [job.id for job in store.list(JobStatus.FAILED)] == ["demo"]
    elif how == "hold":
        with store.hold("demo") as job:
            assert job.status is JobStatus.FAILED
    elif how == "submit":
        assert "it is failed. Run it again with job-retry demo." in message_of(lambda: store.submit("demo"))
    elif how == "add":
        assert store.add_step("demo", ARGS).status is JobStatus.FAILED
    else:
        store.delete("demo")
        assert files_of(root) == []
        return
    steps = store.find("demo").steps
    assert [(step.status, step.fault) for step in steps[:2]] == [(StepStatus.FAILED, DIED), (StepStatus.QUEUED, "")]
    assert files_of(root) == ["failed/demo.json"]
    assert listener.warnings == [
        "The job demo is put down as failed: the process that ran it ended before its time. job-retry demo goes on "
        "with it."
    ]


def test_a_job_that_is_being_run_is_left_to_its_process(store, root):
    submitted(store)
    with JobStore(root).hold("demo") as job:
        store.save(job.with_step(0, status=StepStatus.STARTED))
        assert [job.id for job in store.list(JobStatus.QUEUED)] == ["demo"]
        assert store.list(JobStatus.FAILED) == ()


@pytest.mark.parametrize(
    "content", [b"", b'{"version": "1", "steps"', b'{"version": "1", "format": 9, "steps": []}', b"\xff\xfe"]
)
def test_a_file_that_cannot_be_read_is_named_once_and_left_alone(store, root, listener, content):
    submitted(store, "good")
    bad = root / "queued" / "bad.json"
    bad.write_bytes(content)
    for _ in range(2):
        assert [job.id for job in store.list(JobStatus.QUEUED)] == ["good"]
        assert store.list(JobStatus.FAILED) == ()
    (warning,) = listener.warnings
    assert f"the job file {bad} " in warning
    assert message_of(lambda: store.find("bad")) == warning
    assert message_of(lambda: store.add_step("bad", ARGS)) == warning
    assert message_of(lambda: store.create("bad")) == "there is a job bad already (queued). Choose another id."
    (fault,) = store.scan(JobStatus.QUEUED).faults
    assert str(fault) == warning
    assert bad.read_bytes() == content
    store.delete("bad")
    assert files_of(root) == ["queued/good.json"]


def test_other_files_in_the_folders_are_none_of_our_business(store, root):
    submitted(store)
    for name in ("readme.txt", ".hidden.json", "x.json.part", "demo.json~"):
        (root / "queued" / name).write_bytes(b"x")
    assert [job.id for job in store.list(JobStatus.QUEUED)] == ["demo"]
    assert store.scan(JobStatus.QUEUED).faults == ()


def test_a_job_that_facefusion_named_by_a_hash_is_found_under_the_id_that_was_typed(store, root):
    digest = "a5a8ee3152c4dd86a0f6e784a392eeff0ba4f0ab"
    for status in JobStatus:
        (root / status.value).mkdir(parents=True)
    table = {
        "version": "1",
        "date_created": "2025-06-01T10:00:00+02:00",
        "date_updated": None,
        "steps": [{"args": ARGS, "status": "queued"}],
    }
    (root / "queued" / f"{digest}.json").write_text(json.dumps(table))
    assert store.find("my job!").id == digest
    assert message_of(lambda: store.create("my job!")).startswith("there is a job my job! already (queued).")
    assert [(step.foreign, step.status) for step in store.add_step("my job!", ARGS).steps] == [
        (True, StepStatus.QUEUED),
        (False, StepStatus.QUEUED),
    ]
    with store.hold("my job!") as job:
        assert store.is_held("my job!")
        store.move(job, JobStatus.COMPLETED)
    store.delete("my job!")
    assert files_of(root) == []


def test_a_job_that_went_away_is_not_written_again(store, root):
    job = submitted(store)
    store.delete("demo")
    expected = (
        f"the job demo is no longer queued: {root / 'queued' / 'demo.json'} is not there. Another process moved or "
        "deleted it; job-list shows where it is."
    )
    assert message_of(lambda: store.save(job)) == expected
    assert message_of(lambda: store.move(job, JobStatus.FAILED)) == expected
    assert files_of(root) == []


def test_no_file_is_moved_over_another(store, root):
    job = submitted(store)
    (root / "completed" / "demo.json").write_bytes(b"x")
    assert message_of(lambda: store.move(job, JobStatus.COMPLETED)).startswith("the job demo cannot be completed: ")
    assert (root / "completed" / "demo.json").read_bytes() == b"x"
    assert message_of(lambda: store.find("demo")) == (
        f"the job demo has several files: {root / 'queued' / 'demo.json'} and {root / 'completed' / 'demo.json'}. "
        "Remove or rename all but one of them."
    )


def test_what_is_no_file_is_no_job(store, root):
    submitted(store)
    (root / "queued" / "folder.json").mkdir()
    if hasattr(os, "mkfifo"):
        os.mkfifo(root / "queued" / "pipe.json")
    assert [job.id for job in store.list(JobStatus.QUEUED)] == ["demo"]
    assert message_of(lambda: store.find("pipe")).startswith("there is no job pipe.")


def test_one_dead_job_that_cannot_be_put_down_keeps_no_other_from_being_listed(store, root):
    job = submitted(store)
    submitted(store, "good")
    store.save(job.with_step(0, status=StepStatus.STARTED))
    (root / "failed" / "demo.json").write_bytes(b"x")
    assert {job.id for job in store.list(JobStatus.QUEUED)} == {"demo", "good"}


def kept_in(folder, store, *steps):
    """A failed job whose steps keep their results."""
    store.create("demo", [{"target_path": "t.mp4", "output_path": str(folder / "r.mp4")} for _ in steps])
    with store.hold("demo") as held:
        job = held
        for index, status in enumerate(steps):
            file = folder / f"r-demo-{index}.mp4"
            file.write_bytes(b"x")
            job = job.with_step(index, status=status, kept=str(file))
        store.move(job, JobStatus.FAILED)


def test_what_steps_keep_goes_with_them(store, tmp_path):
    kept_in(tmp_path, store, StepStatus.COMPLETED, StepStatus.FAILED, StepStatus.COMPLETED)
    for name in ("r.mp4", "r-demo-3.mp4"):
        (tmp_path / name).write_bytes(b"not the job's")
    store.remove_step("demo", 0)
    # The file of a step that is done keeps its name; what another one had begun under its old name goes.
    assert sorted(path.name for path in tmp_path.glob("*.mp4")) == ["r-demo-2.mp4", "r-demo-3.mp4", "r.mp4"]
    store.delete("demo")
    assert sorted(path.name for path in tmp_path.glob("*.mp4")) == ["r-demo-3.mp4", "r.mp4"]


def test_what_steps_keep_goes_wherever_the_job_is_deleted_from(root, tmp_path, monkeypatch):
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    store = JobStore(root)
    store.create("demo", [{"target_path": "t.mp4", "output_path": "r.mp4"}])
    with store.hold("demo") as job:
        Path("r-demo-0.mp4").write_bytes(b"x")
        store.save(job.with_step(0, kept=str(tmp_path / "here" / "r-demo-0.mp4")))
    monkeypatch.chdir(tmp_path / "there")
    Path("r-demo-0.mp4").write_bytes(b"mine")
    store.delete("demo")
    assert [path.read_bytes() for path in tmp_path.rglob("r-demo-0.mp4")] == [b"mine"]


def test_what_cannot_be_removed_is_said_and_the_job_is_deleted(store, tmp_path, listener):
    kept_in(tmp_path, store, StepStatus.COMPLETED)
    file = tmp_path / "r-demo-0.mp4"
    file.unlink()
    file.mkdir()
    store.delete("demo")
    (warning,) = listener.warnings
    assert warning.startswith(f"{file} is no longer needed, and stays: ")
    assert store.list(JobStatus.FAILED) == ()


def test_a_stop_ends_the_wait_for_the_folder_after_a_moment_in_which_it_may_still_be_had(root, monkeypatch):
    stop = StopToken()
    store = JobStore(root, stop=stop)
    store.create("demo")
    stop.request("Ctrl-C")
    lock = filelock.FileLock(root / ".locks" / ".folder.lock", thread_local=False)
    with lock, pytest.raises(Stopped):
        store.find("demo")
    assert store.find("demo").id == "demo"
    monkeypatch.setattr("facefusion.jobs.locks.GRACE_SECONDS", 60.0)
    store = JobStore(root, stop=stop)
    lock.acquire()
    threading.Timer(0.3, lock.release).start()
    assert store.find("demo").id == "demo"


def test_a_job_that_is_held_is_read_and_written_while_another_process_hangs(store, root):
    store.create("demo", [ARGS])
    store.submit("demo")
    with store.hold("demo") as job:
        with filelock.FileLock(root / ".locks" / ".folder.lock", thread_local=False):
            started = store.save(job.with_step(0, status=StepStatus.STARTED))
            assert store.held("demo") == started
        assert store.find("demo") == started


def test_a_root_that_is_a_file(tmp_path):
    (tmp_path / "jobs").write_bytes(b"x")
    message = message_of(lambda: JobStore(tmp_path / "jobs").create("demo"), OutputError)
    assert message.startswith(f"{tmp_path / 'jobs'} cannot be written: ")
    assert message.endswith("Choose another folder with --jobs-path.")


@settings(max_examples=25, stateful_step_count=30)
class StoreAgainstDictionary(RuleBasedStateMachine):
    """The store does what a dictionary of statuses and marks of steps does."""

    ids = st.sampled_from(["a", "b b", "c!"])
    indices = st.integers(-1, 3)

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.store = JobStore(Path(self.folder.name) / "j[x]", now=Clock())
        self.jobs: dict[str, tuple[JobStatus, list[int]]] = {}
        self.marks = count()

    def teardown(self):
        self.folder.cleanup()

    def same(self, is_allowed, act):
        """Both allow it, or the store refuses."""
        try:
            act()
        except JobError:
            assert not is_allowed
        else:
            assert is_allowed
        return is_allowed

    def args(self):
        mark = next(self.marks)
        return mark, {"output_path": "a.mp4", "mark": mark}

    @rule(job_id=ids)
    def create(self, job_id):
        if self.same(job_id not in self.jobs, lambda: self.store.create(job_id)):
            self.jobs[job_id] = (JobStatus.DRAFTED, [])

    @rule(job_id=ids)
    def add(self, job_id):
        mark, args = self.args()
        status, steps = self.jobs.get(job_id, (JobStatus.COMPLETED, []))
        if self.same(status is not JobStatus.COMPLETED, lambda: self.store.add_step(job_id, args)):
            steps.append(mark)

    @rule(job_id=ids, index=indices)
    def insert(self, job_id, index):
        mark, args = self.args()
        status, steps = self.jobs.get(job_id, (JobStatus.COMPLETED, []))
        is_allowed = status is not JobStatus.COMPLETED and bool(steps) and index < len(steps)
        if self.same(is_allowed, lambda: self.store.insert_step(job_id, index, args)):
            steps.insert(index, mark)

    @rule(job_id=ids, index=indices)
    def remove(self, job_id, index):
        status, steps = self.jobs.get(job_id, (JobStatus.COMPLETED, []))
        needed = 1 if status is JobStatus.DRAFTED else 2
        is_allowed = status is not JobStatus.COMPLETED and len(steps) >= needed and index < len(steps)
        if self.same(is_allowed, lambda: self.store.remove_step(job_id, index)):
            del steps[index]

    @rule(job_id=ids)
    def submit(self, job_id):
        status, steps = self.jobs.get(job_id, (JobStatus.COMPLETED, []))
        if self.same(status is JobStatus.DRAFTED and bool(steps), lambda: self.store.submit(job_id)):
            self.jobs[job_id] = (JobStatus.QUEUED, steps)

    @rule(job_id=ids, end=st.sampled_from([JobStatus.COMPLETED, JobStatus.FAILED]))
    def run(self, job_id, end):
        status, steps = self.jobs.get(job_id, (JobStatus.COMPLETED, []))
        if status is JobStatus.QUEUED:
            with self.store.hold(job_id) as job:
                self.store.move(job, end)
            self.jobs[job_id] = (end, steps)

    @rule(job_id=ids)
    def delete(self, job_id):
        if self.same(job_id in self.jobs, lambda: self.store.delete(job_id)):
            del self.jobs[job_id]

    @invariant()
    def both_know_the_same(self):
        found = {
            job.id: (status, [step.args["mark"] for step in job.steps])
            for status in JobStatus
            for job in self.store.list(status)
        }
        assert found == self.jobs


TestStoreAgainstDictionary = StoreAgainstDictionary.TestCase
