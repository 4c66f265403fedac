"""What every queue of jobs does, as whoever asks it relies on."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from facefusion.service.errors import ConflictError, NotFoundError, QueueFullError
from facefusion.service.memory_queue import MemoryQueue
from facefusion.service.records import JobState, Priority
from facefusion.service.redis_link import RedisLink
from facefusion.service.redis_queue import RedisQueue
from tests.service.jobs import job

pytestmark = pytest.mark.service


@pytest.fixture(params=["memory", "redis"])
def queue(request):
    if request.param == "memory":
        yield MemoryQueue()
        return
    link = RedisLink(request.getfixturevalue("redis_url"))
    yield RedisQueue(link)
    link.close()


def submit(queue, record, key=None, most=100):
    return queue.submit(record, idempotency_key=key, most_waiting=most)


def test_a_job_comes_back_as_it_was_submitted(queue):
    record = job(sources=("a", "b"), priority=Priority.HIGH, step={"processors": ["face_swapper"], "x": 1.5})
    assert submit(queue, record) == record
    assert queue.find(record.id) == record
    assert queue.find("x") is None


def test_one_key_is_one_job_of_an_owner(queue):
    first = submit(queue, job(1), "k")
    assert submit(queue, job(2, target=first.target), "k").id == first.id
    with pytest.raises(ConflictError, match="the idempotency key was used for another job"):
        submit(queue, job(3), "k")
    assert submit(queue, job(4, owner="bob"), "k").id == "job4"
    assert submit(queue, job(5), "l").id == "job5"


def test_one_key_from_many_threads_is_one_job(queue):
    with ThreadPoolExecutor(8) as pool:
        records = [job(number, target="t") for number in range(16)]
        found = list(pool.map(lambda record: submit(queue, record, "k").id, records))
    assert len(set(found)) == 1
    assert len(queue.list("ann", limit=99, before=None)) == 1


def test_no_more_of_one_owner_are_known_than_may(queue):
    queue.most_kept = 2
    submit(queue, job(1))
    submit(queue, job(2), "k")
    with pytest.raises(QueueFullError, match="2 jobs are kept for you already"):
        submit(queue, job(3))
    assert submit(queue, job(4, target=job(2).target), "k").id == "job2"
    submit(queue, job(5, owner="bob"))
    queue.cancel("job1")
    with pytest.raises(QueueFullError, match=r"Erase those that are done with DELETE"):
        submit(queue, job(3))
    queue.erase("job1")
    submit(queue, job(3))


def test_the_last_places_are_for_who_has_few_jobs_waiting(queue):
    for number in range(18):
        submit(queue, job(number), most=20)
    with pytest.raises(QueueFullError, match="20 jobs wait already"):
        submit(queue, job(18), most=20)
    submit(queue, job(18, owner="bob"), most=20)
    submit(queue, job(19, owner="eve"), most=20)
    with pytest.raises(QueueFullError):
        submit(queue, job(20, owner="joe"), most=20)
    queue.cancel("job0")
    queue.cancel("job0")
    submit(queue, job(20, owner="joe"), most=20)
    for number in range(1, 18):
        queue.cancel(f"job{number}")
    submit(queue, job(21), most=20)


def test_no_more_wait_than_may_and_a_known_key_is_answered(queue):
    submit(queue, job(1), "k", most=1)
    with pytest.raises(QueueFullError, match="1 jobs wait already"):
        submit(queue, job(2), most=1)
    assert submit(queue, job(3, target=job(1).target), "k", most=1).id == "job1"
    queue.cancel("job1")
    submit(queue, job(2), most=1)


def test_jobs_are_listed_the_newest_first_page_by_page(queue):
    for number in range(1, 6):
        submit(queue, job(number, owner="bob" if number == 3 else "ann"))
    assert [one.id for one in queue.list("ann", limit=2, before=None)] == ["job5", "job4"]
    assert [one.id for one in queue.list("ann", limit=9, before="job4")] == ["job2", "job1"]
    assert [one.id for one in queue.list(None, limit=9, before=None)] == ["job5", "job4", "job3", "job2", "job1"]
    assert list(queue.list("nobody", limit=9, before=None)) == []
    with pytest.raises(NotFoundError, match="there is no job nothing to go on from"):
        queue.list("ann", limit=9, before="nothing")


def test_what_waits_is_counted(queue):
    assert queue.oldest_waiting() is None
    for number, priority in enumerate((Priority.LOW, Priority.HIGH, Priority.LOW), 1):
        submit(queue, job(number, priority=priority))
    assert queue.waiting() == {Priority.HIGH: 1, Priority.NORMAL: 0, Priority.LOW: 2}
    assert queue.oldest_waiting() == job(1).created
    queue.cancel("job1")
    assert queue.waiting()[Priority.LOW] == 1
    assert queue.oldest_waiting() == job(2).created


def test_a_job_that_waits_is_cancelled_at_once_and_stays_so(queue):
    submit(queue, job(1))
    cancelled = queue.cancel("job1")
    assert cancelled is not None
    assert cancelled.state is JobState.CANCELLED
    assert cancelled.ended is not None
    assert queue.cancel("job1") == cancelled == queue.find("job1")
    assert queue.cancel("x") is None
    assert queue.ended()[JobState.CANCELLED] == 1


def test_a_job_pins_its_assets_until_it_is_final(queue):
    submit(queue, job(1, target="t", sources=("s",)))
    submit(queue, job(2, target="t", sources=("s",)))
    queue.cancel("job1")
    assert queue.uses("t")
    assert queue.uses("s")
    assert not queue.uses("other")
    queue.cancel("job2")
    assert not queue.uses("t")


def test_what_is_erased_is_gone_and_its_key_is_free(queue):
    submit(queue, job(1), "k")
    queue.cancel("job1")
    queue.erase("job1")
    queue.erase("job1")
    assert queue.find("job1") is None
    assert list(queue.list("ann", limit=9, before=None)) == []
    assert submit(queue, job(2), "k").id == "job2"


def test_the_end_is_told_to_whoever_watches(queue):
    submit(queue, job(1))

    async def watch():
        events = queue.events("job1", None)
        first = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0.2)
        await asyncio.to_thread(queue.cancel, "job1")
        found = [await first]
        found += [event async for event in events]
        return found

    found = asyncio.run(asyncio.wait_for(watch(), 30))
    assert found[-1].state is JobState.CANCELLED


CALLED = "https://example.org/hook"


def test_a_job_with_a_callback_is_in_the_outbox_from_its_end_on(queue):
    submit(queue, job(1, callback=CALLED))
    submit(queue, job(2))
    assert queue.find("job1").callback == CALLED
    assert queue.outbox.take(60) is None
    queue.cancel("job1")
    queue.cancel("job2")
    call = queue.outbox.take(60)
    assert (call.job, call.tries) == (queue.find("job1"), 1)
    assert call.job.state is JobState.CANCELLED
    assert queue.outbox.take(60) is None


def test_a_call_that_was_taken_is_due_again_unless_it_is_crossed_out(queue):
    submit(queue, job(1, callback=CALLED))
    queue.cancel("job1")
    assert queue.outbox.take(0).tries == 1
    assert queue.outbox.take(0).tries == 2
    queue.outbox.postpone("job1", 60)
    assert queue.outbox.take(0) is None
    queue.outbox.postpone("job1", 0)
    assert queue.outbox.take(0).tries == 3
    queue.outbox.cross_out("job1")
    queue.outbox.cross_out("job1")
    queue.outbox.postpone("job1", 0)
    assert queue.outbox.take(0) is None


def test_the_call_of_a_job_that_is_erased_is_not_made(queue):
    submit(queue, job(1, callback=CALLED))
    queue.cancel("job1")
    queue.erase("job1")
    assert queue.outbox.take(0) is None


def test_calls_are_made_in_the_order_of_their_jobs_ends_and_each_by_one(queue):
    for number in range(1, 9):
        submit(queue, job(number, callback=CALLED))
        queue.cancel(f"job{number}")
    assert queue.outbox.take(60).job.id == "job1"
    with ThreadPoolExecutor(8) as pool:
        taken = [call.job.id for call in pool.map(lambda _: queue.outbox.take(60), range(16)) if call is not None]
    assert sorted(taken) == [f"job{number}" for number in range(2, 9)]


def test_another_callback_under_one_key_is_another_job(queue):
    submit(queue, job(1, callback=CALLED), "k")
    assert submit(queue, job(2, target=job(1).target, callback=CALLED), "k").id == "job1"
    with pytest.raises(ConflictError):
        submit(queue, job(3, target=job(1).target), "k")
