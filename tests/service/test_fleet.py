"""Real workers, real Celery, real Redis; only the engine is a stub."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from facefusion.service.celery_messages import open_queue
from facefusion.service.leases import POISON
from facefusion.service.records import JobState, Priority
from facefusion.service.redis_link import RedisLink
from tests.service.jobs import job
from tests.service.stub_files import StubFiles

pytestmark = pytest.mark.service

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 60.0
MOST_BYTES = 10_000
"""Of Redis's memory for a job that is just over, a share of what Redis takes by itself included; half of that are
events, which go after an hour."""


class Fleet:
    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.folder = folder
        (folder / "diary").mkdir()
        self.files = StubFiles(folder / "files")
        self.files.put("asset1", "a face")
        self.queue = open_queue(url)
        self.workers: list[subprocess.Popen[bytes]] = []

    def start(self, count: int = 1, breed: str = "breed") -> None:
        for _ in range(count):
            words = [sys.executable, "-m", "tests.service.stub_worker", self.url, str(self.folder), breed]
            with (self.folder / f"worker-{len(self.workers)}.log").open("wb") as log:
                self.workers.append(subprocess.Popen(words, cwd=ROOT, stdout=log, stderr=log))

    def submit(self, number: int = 1, **changes):
        record = job(number, **changes)
        self.files.put(record.target, f"clip {number}")
        return self.queue.submit(record, idempotency_key=None, most_waiting=100_000).id

    def wait(self, holds, seconds: float = PATIENCE_SECONDS):
        end = time.monotonic() + seconds
        while not (found := holds()):
            assert time.monotonic() < end, f"{self.standing()}\n{self.log()}"
            time.sleep(0.05)
        return found

    def final(self, job_id: str, seconds: float = PATIENCE_SECONDS):
        def is_final():
            found = self.queue.find(job_id)
            return found if found is not None and found.state.is_final else None

        return self.wait(is_final, seconds)

    def noted(self, start: str) -> list[str]:
        return sorted(path.name for path in (self.folder / "diary").glob(f"{start}*"))

    def result(self, job_id: str) -> str:
        return self.files.fetch_result(job_id, self.folder).read_text()

    def standing(self) -> str:
        """Where each unit is, and each message of Celery's."""
        link = RedisLink(self.url)
        sets = [name for name in link.call("KEYS", "*") if link.call("TYPE", name) == "zset"]
        lists = [name for name in link.call("KEYS", "*") if link.call("TYPE", name) == "list"]
        found = {name: link.call("ZRANGE", name, 0, 20) for name in sets}
        found |= {name: link.call("LRANGE", name, 0, 3) for name in lists}
        found["unacked"] = link.call("HKEYS", "unacked")
        link.close()
        return "\n".join(f"{name}: {value}" for name, value in sorted(found.items()))

    def log(self) -> str:
        return "\n".join(path.read_text() for path in sorted(self.folder.glob("*.log")))

    def end(self) -> None:
        for worker in self.workers:
            worker.kill()
            worker.wait()


def expected(number: int, segments: int) -> str:
    return "".join(f"job{number} segment {index} of clip {number}\n" for index in range(segments))


@pytest.fixture
def fleet(redis_url, tmp_path):
    fleet = Fleet(redis_url, tmp_path)
    yield fleet
    fleet.end()


def pid_of(note: str) -> int:
    return int(note.split("-")[4])


def test_two_workers_share_a_job(fleet):
    fleet.start(2)
    fleet.wait(lambda: fleet.queue.workers() == 2)
    fleet.submit(step={"segments": 6, "seconds": 0.1})
    done = fleet.final("job1")
    assert done.state is JobState.COMPLETED
    assert fleet.result("job1") == expected(1, 6)
    assert len(done.report["pids"]) == 2
    assert (done.progress.done, done.progress.total, done.progress.segments) == (30, 30, 6)
    assert done.result.size == len(expected(1, 6))
    assert done.retries == 0
    fleet.wait(lambda: not (fleet.folder / "files/segments/job1").exists())
    assert len(fleet.noted("begun-")) == 6
    assert len(fleet.noted("joined-")) == 1


def test_a_worker_that_is_killed_costs_one_segment(fleet):
    fleet.start(2)
    fleet.wait(lambda: fleet.queue.workers() == 2)
    fleet.submit(step={"segments": 4, "seconds": 0.4})
    victim = pid_of(fleet.wait(lambda: fleet.noted("begun-job1"))[0])
    os.kill(victim, signal.SIGKILL)
    done = fleet.final("job1", 120)
    assert done.state is JobState.COMPLETED
    assert fleet.result("job1") == expected(1, 4)
    assert done.retries == 1
    ended = Counter(note.split("-")[2] for note in fleet.noted("ended-job1"))
    assert ended == {"0": 1, "1": 1, "2": 1, "3": 1}
    assert len(fleet.noted("begun-job1")) == 5


def test_a_request_to_end_lets_the_segment_be_finished(fleet):
    fleet.start()
    fleet.submit(step={"segments": 3, "seconds": 0.3})
    fleet.wait(lambda: fleet.noted("begun-job1-0"))
    fleet.workers[0].send_signal(signal.SIGTERM)
    assert fleet.workers[0].wait(30) == 0
    assert len(fleet.noted("begun-")) == len(fleet.noted("ended-")) == 1
    assert fleet.queue.workers() == 0
    fleet.start()
    done = fleet.final("job1")
    assert done.state is JobState.COMPLETED
    assert done.retries == 0
    assert fleet.result("job1") == expected(1, 3)


def test_a_cancelled_job_is_left_in_the_middle_of_a_segment(fleet):
    fleet.start()
    fleet.submit(step={"segments": 2, "seconds": 20})
    fleet.wait(lambda: fleet.noted("begun-job1"))
    fleet.queue.cancel("job1")
    fleet.submit(2, step={})
    assert fleet.final("job2", 20).state is JobState.COMPLETED
    assert fleet.queue.find("job1").state is JobState.CANCELLED
    assert fleet.noted("ended-job1") == []
    fleet.wait(lambda: not (fleet.folder / "files/segments/job1").exists())


def test_a_worker_that_could_not_acknowledge_its_last_message_hears_of_the_next(redis_server, tmp_path):
    fleet = Fleet(redis_server.url, tmp_path)
    try:
        (tmp_path / "hold").touch()
        fleet.start(1)
        fleet.submit()
        fleet.wait(lambda: fleet.noted("committed-"))
        redis_server.kill()
        (tmp_path / "hold").unlink()
        fleet.wait(lambda: "Couldn't ack" in fleet.log())
        redis_server.start()
        assert fleet.final("job1").state is JobState.COMPLETED
        assert "messages wait and none of them comes" in fleet.log()
    finally:
        fleet.end()


@pytest.mark.parametrize("fault", ["hang", "hang in a library"])
def test_a_worker_that_hangs_loses_its_segment_and_ends_itself(fleet, fault):
    fleet.submit(step={"segments": 2, "fault": fault})
    fleet.start(1)
    fleet.wait(lambda: fleet.noted("begun-job1"))
    assert fleet.workers[0].wait(60) == 1
    assert "most recent call first" in fleet.log()  # where each of its threads stood
    fleet.start(1)
    done = fleet.final("job1", 60)
    assert done.state is JobState.COMPLETED
    assert fleet.result("job1") == expected(1, 2)
    assert Counter(note.split("-")[2] for note in fleet.noted("ended-job1")) == {"0": 1, "1": 1}


def test_what_a_worker_that_seemed_to_hang_brings_late_is_refused(fleet):
    fleet.start(2)
    fleet.wait(lambda: fleet.queue.workers() == 2)
    fleet.submit(step={"fault": "long silence"})
    done = fleet.final("job1", 60)
    assert done.state is JobState.COMPLETED
    assert done.retries == 1
    first, second = (
        pid_of(note) for note in sorted(fleet.noted("begun-job1"), key=lambda note: int(note.split("-")[3]))
    )
    assert first != second
    assert done.report["pids"] == [second]
    fleet.wait(lambda: fleet.noted("silence-job1"))
    fleet.submit(2)
    assert fleet.final("job2").state is JobState.COMPLETED
    assert [worker.poll() for worker in fleet.workers] == [None, None]


def test_redis_may_come_back(redis_server, tmp_path):
    fleet = Fleet(redis_server.url, tmp_path)
    try:
        fleet.start(2)
        fleet.submit(step={"segments": 6, "seconds": 0.3})
        fleet.wait(lambda: fleet.noted("ended-job1"))
        redis_server.kill()
        time.sleep(3)
        redis_server.start()
        # A Redis that is killed may forget its last second, and what was sent in it is missed after a while only:
        # a lease has to lapse, and a message is looked for in vain for a minute before it is sent again.
        done = fleet.final("job1", 300)
        assert done.state is JobState.COMPLETED
        assert fleet.result("job1") == expected(1, 6)
        assert len(fleet.noted("joined-")) == 1
    finally:
        fleet.end()


def test_a_refusal_names_no_path(fleet):
    fleet.start()
    fleet.submit(step={"refuse": True})
    done = fleet.final("job1")
    assert done.state is JobState.REJECTED
    assert (done.fault.fault, done.fault.remedy) == ("the target is refused", "Choose another target.")
    assert done.fault.kind == "ContentRefusedError"


def test_without_memory_a_unit_is_tried_again_with_nothing_loaded(fleet):
    fleet.start()
    fleet.submit(step={"fault": "memory"})
    done = fleet.final("job1")
    assert done.state is JobState.COMPLETED
    assert done.retries == 0


def test_without_memory_the_job_fails_and_the_worker_goes_on(fleet):
    fleet.start()
    fleet.submit(step={"fault": "always memory"})
    assert fleet.final("job1").fault.fault == "no memory for the target"
    fleet.submit(2)
    assert fleet.final("job2").state is JobState.COMPLETED
    assert fleet.workers[0].poll() is None


def test_where_a_card_is_taken_the_unit_waits_for_it_and_others_go_on(fleet):
    (fleet.folder / "taken").touch()
    fleet.start()
    fleet.submit(step={"fault": "taken card"})
    fleet.wait(lambda: "is left to others: no room" in fleet.log())
    fleet.submit(2)
    assert fleet.final("job2").state is JobState.COMPLETED
    assert fleet.queue.find("job1").state is JobState.RUNNING
    (fleet.folder / "taken").unlink()
    done = fleet.final("job1")
    assert done.state is JobState.COMPLETED
    assert done.retries == 0


@pytest.mark.parametrize("fault", ["small card", "large plan"])
def test_what_a_card_is_too_small_for_is_done_by_who_has_a_larger_one(fleet, fault):
    fleet.start(1, "small")
    fleet.start(1, "large")
    fleet.wait(lambda: fleet.queue.workers() == 2)
    for number in (1, 2, 3):
        fleet.submit(number, step={"segments": 2, "fault": fault})
    for number in (1, 2, 3):
        done = fleet.final(f"job{number}")
        assert done.state is JobState.COMPLETED
        assert fleet.result(f"job{number}") == expected(number, 2)
        assert done.report["pids"] == [fleet.workers[1].pid]
        assert not done.alone


def test_what_no_card_is_large_enough_for_is_tried_with_frames_one_at_a_time(fleet):
    fleet.start(1, "small1")
    fleet.start(1, "small2")
    fleet.wait(lambda: fleet.queue.workers() == 2)
    fleet.submit(step={"segments": 2, "fault": "half a card"})
    done = fleet.final("job1")
    assert done.state is JobState.COMPLETED
    assert done.alone
    assert fleet.result("job1") == expected(1, 2)


@pytest.mark.parametrize("fault", ["small card", "large plan"])
def test_what_no_card_is_large_enough_for_fails_with_the_figure(fleet, fault):
    fleet.start(1, "small1")
    fleet.start(1, "small2")
    fleet.wait(lambda: fleet.queue.workers() == 2)
    fleet.submit(step={"fault": fault})
    done = fleet.final("job1")
    assert done.state is JobState.FAILED
    assert done.fault.fault == "the models take 3 GB, and a card has 2 GB"
    assert done.fault.kind == "VideoMemoryError"
    fleet.submit(2)
    assert fleet.final("job2").state is JobState.COMPLETED


def test_where_several_frames_at_once_do_not_fit_the_whole_job_is_begun_anew_with_one(fleet):
    fleet.start(2)
    fleet.wait(lambda: fleet.queue.workers() == 2)
    fleet.submit(step={"segments": 3, "fault": "several at once"})
    done = fleet.final("job1")
    assert done.state is JobState.COMPLETED
    assert done.alone
    assert fleet.result("job1") == expected(1, 3)
    ended = Counter(note.split("-")[2] for note in fleet.noted("ended-job1"))
    assert ended == {"0": 1, "1": 1, "2": 1}
    assert len(fleet.noted("joined-")) == 1


def test_a_full_disk_fails_the_job_and_the_worker_goes_on(fleet):
    (fleet.folder / "files/full").touch()
    fleet.start()
    fleet.submit()
    assert fleet.final("job1").fault.fault == "there is no room for more files"
    fleet.wait(lambda: not (fleet.folder / "files/segments/job1").exists())
    (fleet.folder / "files/full").unlink()
    fleet.submit(2)
    assert fleet.final("job2").state is JobState.COMPLETED
    assert fleet.workers[0].poll() is None


def test_what_may_pass_is_tried_again_and_a_defect_is_not(fleet):
    fleet.start()
    fleet.submit(1, step={"fault": "passing"})
    fleet.submit(2, step={"fault": "defect"})
    assert fleet.final("job1").state is JobState.COMPLETED
    assert fleet.queue.find("job1").retries == 1
    failed = fleet.final("job2")
    assert failed.state is JobState.FAILED
    assert failed.fault.fault == "unexpected ZeroDivisionError"
    assert len(fleet.noted("begun-job2")) == 1


def test_an_asset_that_is_gone_fails_the_job(fleet):
    fleet.start()
    fleet.submit(sources=("gone",))
    failed = fleet.final("job1")
    assert failed.state is JobState.FAILED
    assert failed.fault.fault == "the asset gone is gone"


def test_what_is_begun_and_what_is_urgent_come_first(fleet):
    fleet.submit(1, step={"segments": 2}, priority=Priority.LOW)
    fleet.submit(2, step={"segments": 2})
    fleet.submit(3, step={"segments": 2})
    fleet.submit(4, step={"segments": 2}, priority=Priority.HIGH)
    fleet.start()
    ended = [fleet.final(f"job{number}").ended for number in (4, 2, 3, 1)]
    assert ended == sorted(ended)


def test_versions_do_not_share_a_video_and_none_waits_for_a_version_that_is_gone(fleet):
    fleet.start(1, "old")
    fleet.submit(step={"segments": 3, "seconds": 0.2})
    fleet.wait(lambda: fleet.noted("begun-job1-0"))
    fleet.workers[0].send_signal(signal.SIGTERM)
    fleet.workers[0].wait(30)
    fleet.start(1, "new")
    done = fleet.final("job1", 120)
    assert done.state is JobState.COMPLETED
    assert done.report["pids"] == [fleet.workers[1].pid]


@pytest.mark.slow
def test_a_job_that_kills_workers_is_parked(fleet):
    fleet.submit(step={"fault": "poison"})
    for _ in range(3):
        fleet.start(1)
        fleet.workers[-1].wait(120)
    fleet.start(1)
    done = fleet.final("job1", 120)
    assert done.state is JobState.PARKED
    assert done.fault == POISON


@pytest.mark.parametrize("count", [1_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_many_jobs_none_lost_none_twice(fleet, count):
    for number in range(1, count + 1):
        fleet.submit(number)
    assert sum(fleet.queue.waiting().values()) == count
    fleet.start(2)
    fleet.final(f"job{count}", count / 10)
    fleet.wait(
        lambda: all(fleet.queue.find(f"job{number}").state is JobState.COMPLETED for number in range(1, count + 1))
    )
    used = RedisLink(fleet.url).call("INFO", "memory")["used_memory"]
    assert used / count < MOST_BYTES
    begun = Counter(note.split("-")[1] for note in fleet.noted("begun-"))
    joined = Counter(note.split("-")[1] for note in fleet.noted("joined-"))
    assert len(begun) == len(joined) == count
    assert set(begun.values()) == set(joined.values()) == {1}
