import asyncio
import threading
from dataclasses import replace

import pytest

from facefusion.service.errors import ConflictError, NotFoundError, QueueFullError
from facefusion.service.memory_queue import MemoryQueue
from facefusion.service.records import JobRecord, JobState, Priority, Progress
from tests.service.fakes import Clock


def job(name, owner="ann", priority=Priority.NORMAL, **about):
    fields = {"step": {"processors": ["face_swapper"]}, "sources": ("s",), "target": "t", **about}
    return JobRecord(
        id=name, owner=owner, state=JobState.QUEUED, priority=priority, extension=".mp4", created=1.0, **fields
    )


@pytest.fixture
def queue():
    return MemoryQueue(Clock(100.0))


def put(queue, *jobs):
    for one in jobs:
        queue.submit(one, idempotency_key=None, most_waiting=100)


def test_a_job_is_found_and_listed_the_newest_first(queue):
    put(queue, job("a"), job("b", owner="bob"), job("c"))
    assert queue.find("a") == job("a")
    assert queue.find("x") is None
    assert [one.id for one in queue.list(None, limit=10, before=None)] == ["c", "b", "a"]
    assert [one.id for one in queue.list("ann", limit=1, before=None)] == ["c"]
    assert [one.id for one in queue.list("ann", limit=10, before="c")] == ["a"]
    with pytest.raises(NotFoundError, match="there is no job x to go on from"):
        queue.list("ann", limit=10, before="x")


def test_jobs_are_taken_by_priority_and_then_in_their_order(queue):
    put(queue, job("low", priority=Priority.LOW), job("one"), job("two"), job("high", priority=Priority.HIGH))
    assert queue.waiting() == {Priority.HIGH: 1, Priority.NORMAL: 2, Priority.LOW: 1}
    assert queue.oldest_waiting() == 1.0
    taken = [queue.take(0) for _ in range(4)]
    assert [one and one.id for one in taken] == ["high", "one", "two", "low"]
    assert all(one and one.state is JobState.RUNNING and one.started == 100.0 for one in taken)
    assert queue.take(0) is None
    assert queue.oldest_waiting() is None


def test_whoever_waits_for_a_job_gets_it(queue):
    taken = []
    thread = threading.Thread(target=lambda: taken.append(queue.take(30)))
    thread.start()
    put(queue, job("a"))
    thread.join()
    assert taken[0].id == "a"


def test_no_more_wait_than_may(queue):
    put(queue, job("a"), job("b"))
    with pytest.raises(QueueFullError, match="2 jobs wait already"):
        queue.submit(job("c"), idempotency_key=None, most_waiting=2)
    queue.take(0)
    queue.submit(job("c"), idempotency_key=None, most_waiting=2)


def test_one_key_queues_one_job_of_each_owner(queue):
    first = queue.submit(job("a"), idempotency_key="k", most_waiting=1)
    assert queue.submit(job("b"), idempotency_key="k", most_waiting=1) == first
    with pytest.raises(ConflictError, match="the idempotency key was used for another job"):
        queue.submit(job("b", target="other"), idempotency_key="k", most_waiting=1)
    assert queue.submit(job("b", owner="bob"), idempotency_key="k", most_waiting=2).id == "b"


def test_a_key_goes_with_its_job(queue):
    queue.submit(job("a"), idempotency_key="k", most_waiting=9)
    queue.cancel("a")
    queue.erase("a")
    assert queue.submit(job("b", target="other"), idempotency_key="k", most_waiting=9).id == "b"


def test_cancelling(queue):
    put(queue, job("a"), job("b"))
    assert queue.cancel("x") is None
    cancelled = queue.cancel("b")
    assert cancelled is not None
    assert (cancelled.state, cancelled.ended) == (JobState.CANCELLED, 100.0)
    queue.take(0)
    running = queue.cancel("a")
    assert running is not None
    assert running.state is JobState.RUNNING
    assert queue.is_cancelled("a")
    queue.finish("a", JobState.COMPLETED)
    assert queue.cancel("a") == queue.find("a")


def test_only_what_is_final_is_erased_and_lets_go_of_its_assets(queue):
    put(queue, job("a"))
    queue.erase("a")
    assert queue.find("a") is not None
    assert queue.uses("t")
    assert queue.uses("s")
    assert not queue.uses("other")
    queue.cancel("a")
    assert not queue.uses("t")
    queue.erase("a")
    queue.erase("a")
    assert queue.find("a") is None


def test_progress_is_kept_and_of_a_job_that_is_gone_is_passed_over(queue):
    put(queue, job("a"))
    queue.advance("a", Progress(done=3, total=9))
    assert queue.find("a") == replace(job("a"), progress=Progress(done=3, total=9))
    queue.advance("x", Progress())
    queue.finish("x", JobState.FAILED)
    assert queue.workers() == 1


def gathered(queue, after=None, meanwhile=lambda: None):
    async def gather():
        events = queue.events("a", after)
        first = asyncio.ensure_future(anext(events, None))
        await asyncio.sleep(0)
        meanwhile()
        event = await first
        found = []
        while event is not None:
            found.append(event)
            event = await anext(events, None)
        return found

    return asyncio.run(gather())


def test_changes_are_told_until_the_one_that_is_final(queue):
    put(queue, job("a"))

    def finish():
        queue.take(0)
        queue.finish("a", JobState.COMPLETED)

    events = gathered(queue, meanwhile=finish)
    assert [event.state for event in events] == [JobState.COMPLETED]
    assert gathered(queue, after=events[-1].id) == []
    assert [event.id for event in gathered(queue, after="0")] == [events[-1].id]
    assert gathered(queue) == []


def test_a_job_that_is_not_there_has_no_events(queue):
    assert gathered(queue) == []
    assert gathered(queue, after="nonsense") == []
