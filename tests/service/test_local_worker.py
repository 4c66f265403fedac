import dataclasses
import hashlib
import logging

import pytest

from facefusion.config.settings import PathsSettings, ProcessorsSettings
from facefusion.config.state import Snapshot
from facefusion.core.errors import ContentRefusedError, MediaError, Stopped
from facefusion.observability.events import StageProgress, StageStarted
from facefusion.service.local_worker import LocalWorker
from facefusion.service.memory_queue import MemoryQueue
from facefusion.service.records import Asset, Fault, JobState, Progress
from facefusion.service.steps import StepRules
from tests.cli.fakes import REPORT, FakeApplication
from tests.service.fakes import Clock, MemoryFiles
from tests.service.test_memory_queue import job


@pytest.fixture(scope="module")
def base():
    from facefusion.cli.application import load_application
    from facefusion.cli.main import program_schema

    return Snapshot(program_schema(load_application()), {}, {})


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def queue(clock):
    return MemoryQueue(clock)


@pytest.fixture
def files(tmp_path, clock):
    (tmp_path / "files").mkdir()
    store = MemoryFiles(tmp_path / "files")
    for name, extension in (("t", ".mp4"), ("s", ".jpg")):
        part = tmp_path / "part"
        part.write_bytes(name.encode())
        store.add(part, Asset(name, "ann", "ab", 1, "", extension, clock.now, clock.now + 9))
    return store


class Program(FakeApplication):
    """Looks at what it is given before it does what it is told to."""

    def __init__(self, failure=None, act=lambda events, stop: None):
        super().__init__(failure=failure)
        self.before_report = act
        self.seen = []

    def execute(self, snapshot, events, stop):
        paths = snapshot.get(PathsSettings)
        self.seen = [path.read_bytes() for path in (paths.target_path, *paths.source_paths)]
        return super().execute(snapshot, events, stop)


def done(queue, files, base, clock, tmp_path, program):
    work = tmp_path / "work"
    work.mkdir()
    worker = LocalWorker(queue, files, program, base, work, 2.0, clock=clock)
    step = StepRules(base).frozen({"processors": ["face_debugger"]})
    queue.submit(job("a", step=step), idempotency_key=None, most_waiting=9)
    worker.do(queue.take(0))
    assert {path.name for path in work.glob("*")} <= {".lock"}
    return queue.find("a")


def test_what_a_killed_server_left_of_a_job_goes_when_the_next_one_starts(queue, files, base, clock, tmp_path):
    own = base.with_values({"temp_path": tmp_path / "temp"})
    left = tmp_path / "work" / "job-left", tmp_path / "temp" / "facefusion" / "job-left"
    for folder in left:
        folder.mkdir(parents=True)
        (folder / "face.png").write_bytes(b"a face")
    worker = LocalWorker(queue, files, Program(), own, tmp_path / "work", 2.0, clock=clock)
    worker.start()
    worker.close()
    assert [folder.exists() for folder in left] == [False, False]


def test_a_job_is_done_with_its_files_and_settings(queue, files, base, clock, tmp_path):
    program = Program()
    ended = done(queue, files, base, clock, tmp_path, program)
    assert ended.state is JobState.COMPLETED
    assert program.seen == [b"t", b"s"]
    assert program.snapshots[0].get(ProcessorsSettings).processors == ("face_debugger",)
    digest = hashlib.sha256(b"result").hexdigest()
    assert dataclasses.astuple(ended.result) == (digest, 6, "video/mp4", ".mp4", clock.now + 7200)
    assert files.open_result("a", ended.result).path.read_bytes() == b"result"
    assert ended.report["frames"] == REPORT.frames
    assert str(tmp_path) not in str(ended.report)
    temp_path = program.snapshots[0].get(PathsSettings).temp_path
    assert temp_path is not None
    assert not temp_path.exists()


@pytest.mark.parametrize(("kind", "state"), [(MediaError, JobState.FAILED), (ContentRefusedError, JobState.REJECTED)])
def test_a_job_that_fails_says_why_without_paths(queue, files, base, clock, tmp_path, kind, state):
    program = Program()

    def act(events, stop):
        paths = program.snapshots[0].get(PathsSettings)
        raise kind(f"{paths.target_path} and {paths.source_paths[0]} are damaged", f"Look at {paths.output_path}.")

    program.before_report = act
    ended = done(queue, files, base, clock, tmp_path, program)
    assert ended.state is state
    assert ended.fault == Fault("the target and a source are damaged", "Look at the result.", kind.__name__)


def test_a_report_says_nothing_of_where_files_lay(queue, files, base, clock, tmp_path):
    program = Program()

    def act(events, stop):
        source = program.snapshots[0].get(PathsSettings).source_paths[0]
        program.report = dataclasses.replace(REPORT, notices=(f"The face found in {source} is in doubt.",))

    program.before_report = act
    ended = done(queue, files, base, clock, tmp_path, program)
    assert ended.report["notices"] == ["The face found in a source is in doubt."]


def test_a_defect_fails_the_job_and_stays_in_the_log(queue, files, base, clock, tmp_path, caplog):
    with caplog.at_level(logging.ERROR):
        ended = done(queue, files, base, clock, tmp_path, Program(failure=KeyError("/srv/secret")))
    assert ended.state is JobState.FAILED
    assert ended.fault.kind == "KeyError"
    assert "secret" not in str(ended.fault)
    assert "secret" in caplog.text


def test_an_asset_that_was_erased_fails_the_job(queue, files, base, clock, tmp_path):
    files.erase_asset("s")
    ended = done(queue, files, base, clock, tmp_path, Program())
    assert ended.fault.fault == "there is no asset s"


def test_progress_is_noted_and_other_units_are_not_taken_for_frames(queue, files, base, clock, tmp_path):
    seen = []

    def act(events, stop):
        events.emit(StageStarted("models", 4096, "B"))
        events.emit(StageProgress(4096))
        seen.append(queue.find("a").progress)
        events.emit(StageStarted("process", 10))
        events.emit(StageProgress(4, earlier=True))
        events.emit(StageProgress(6))
        seen.append(queue.find("a").progress)

    done(queue, files, base, clock, tmp_path, Program(act=act))
    assert seen[0] == Progress()
    assert (seen[1].done, seen[1].total) == (10, 10)
    assert 0 < seen[1].rate <= 24


def test_a_job_that_is_cancelled_stops_and_leaves_nothing(queue, files, base, clock, tmp_path):
    def act(events, stop):
        queue.cancel("a")
        stop.sleep(60)

    ended = done(queue, files, base, clock, tmp_path, Program(act=act))
    assert (ended.state, ended.result, ended.fault) == (JobState.CANCELLED, None, None)


def test_what_is_done_is_counted(queue, files, base, clock, tmp_path):
    class Counting:
        def __init__(self):
            self.seen = []

        def emit(self, event):
            self.seen.append(type(event).__name__)

        def run_done(self, report):
            self.seen.append(report.frames)

        def job_ended(self, job, worker=""):
            self.seen.append((job.state, worker))

    counts = Counting()
    program = Program(act=lambda events, stop: events.emit(StageProgress(1)))
    worker = LocalWorker(queue, files, program, base, tmp_path, 2.0, counts, clock)
    queue.submit(job("a", step={}), idempotency_key=None, most_waiting=9)
    worker.do(queue.take(0))
    assert counts.seen == ["StageProgress", REPORT.frames, (JobState.COMPLETED, "local")]


def test_the_thread_does_jobs_until_it_is_closed(queue, files, base, clock, tmp_path):
    begun = []

    def act(events, stop):
        begun.append(True)
        while True:
            stop.sleep(10)

    worker = LocalWorker(queue, files, Program(act=act), base, tmp_path, 2.0, clock=clock)
    queue.submit(job("a", step={}), idempotency_key=None, most_waiting=9)
    worker.start()
    while not begun:
        pass
    worker.close()
    assert queue.find("a").state is JobState.FAILED


def test_a_stop_says_why(queue, files, base, clock, tmp_path):
    ended = done(queue, files, base, clock, tmp_path, Program(failure=Stopped("the end of the service")))
    assert ended.state is JobState.FAILED
    assert ended.fault == Fault("the service ended before the job was done", "Queue it again.", "Stopped")
