from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from facefusion.service.errors import ConflictError, NotFoundError, QueueFullError, ServiceUnavailableError
from facefusion.service.leases import JOIN, PLAN, Leases, Unit
from facefusion.service.records import Fault, JobState, Priority, Progress, Result
from facefusion.service.redis_link import RedisLink
from facefusion.service.redis_queue import RedisQueue
from tests.service.jobs import job

pytestmark = pytest.mark.service

RESULT = Result("ab" * 32, 1000, "video/mp4", ".mp4", 1_700_086_400.0)


@pytest.fixture
def link(redis_url):
    link = RedisLink(redis_url)
    yield link
    link.close()


@pytest.fixture
def queue(link):
    return RedisQueue(link)


@pytest.fixture
def leases(link):
    return Leases(link, "worker")


def submit(queue, record, key=None, most=100):
    return queue.submit(record, idempotency_key=key, most_waiting=most)


def take(leases, unit):
    lease = leases.acquire(unit)
    assert lease is not None
    return lease


def complete(queue, leases, record):
    """Take a job through its life, in two segments."""
    assert leases.commit_plan(take(leases, Unit(record.id, PLAN)), {"a": 1}, [10, 5], "breed")
    assert leases.commit_segment(take(leases, Unit(record.id, "1")), {"n": 1})
    assert leases.commit_segment(take(leases, Unit(record.id, "0")), {"n": 0})
    assert leases.complete(take(leases, Unit(record.id, JOIN)), RESULT, {"frames": 15})


async def collect(queue, job_id, after=None):
    return [event async for event in queue.events(job_id, after)]


def test_who_waits_is_counted_until_a_job_is_begun_or_ends(queue, leases, link):
    for number, owner in ((1, "ann"), (2, "ann"), (3, "bob")):
        submit(queue, job(number, owner=owner))
    counted = link.key("waiting-of")
    assert link.call("HGETALL", counted) == {"ann": "2", "bob": "1"}
    complete(queue, leases, job(1))
    take(leases, Unit("job3", PLAN))
    queue.cancel("job3")
    assert link.call("HGETALL", counted) == {"ann": "1"}
    queue.cancel("job2")
    queue.cancel("job2")
    assert link.call("HGETALL", counted) == {}


def test_results_count_for_their_owner_until_their_job_is_forgotten(queue, leases):
    for number, owner in ((1, "ann"), (2, "ann"), (3, "bob")):
        submit(queue, job(number, owner=owner))
        complete(queue, leases, job(number, owner=owner))
    assert [queue.kept_bytes(owner) for owner in ("ann", "bob", "eve")] == [2000, 1000, 0]
    queue.erase("job1")
    queue.erase("job1")
    queue.erase("job3")
    assert [queue.kept_bytes(owner) for owner in ("ann", "bob")] == [1000, 0]
    submit(queue, job(4))
    queue.cancel("job4")
    queue.erase("job4")
    assert queue.kept_bytes("ann") == 1000


def test_a_job_comes_back_as_it_was_submitted(queue):
    record = job(sources=("a", "b"), priority=Priority.HIGH, step={"processors": ["face_swapper"], "x": 1.5})
    assert submit(queue, record) == record
    assert queue.find("job1") == record


def test_a_job_that_is_not_there_is_none(queue):
    assert queue.find("nobody") is None
    assert queue.cancel("nobody") is None
    queue.erase("nobody")
    assert not queue.uses("nothing")


def test_a_key_gives_the_first_job_again(queue):
    first = submit(queue, job(1), key="k")
    assert submit(queue, job(2, target="asset2"), key="k") == first
    assert queue.find("job2") is None
    assert queue.waiting() == {Priority.HIGH: 0, Priority.NORMAL: 1, Priority.LOW: 0}


def test_a_key_is_its_owners(queue):
    submit(queue, job(1), key="k")
    assert submit(queue, job(2, target="asset2", owner="ben"), key="k").id == "job2"


def test_a_key_for_another_job_is_a_conflict(queue):
    submit(queue, job(1), key="k")
    with pytest.raises(ConflictError, match="the idempotency key was used for another job"):
        submit(queue, job(2), key="k")


def test_a_key_of_an_erased_job_is_free(queue):
    submit(queue, job(1), key="k")
    queue.cancel("job1")
    queue.erase("job1")
    assert submit(queue, job(2), key="k").id == "job2"


def test_one_key_from_many_threads_is_one_job(queue):
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda n: submit(queue, job(n, target="same"), key="k").id, range(40)))
    assert len(set(made)) == 1
    assert len(queue.list(None, limit=100, before=None)) == 1


def test_no_more_jobs_wait_than_may(queue):
    submit(queue, job(1), most=2)
    submit(queue, job(2, priority=Priority.LOW), most=2)
    with pytest.raises(QueueFullError, match="2 jobs wait already") as caught:
        submit(queue, job(3), most=2)
    assert caught.value.seconds > 0
    assert queue.find("job3") is None
    queue.cancel("job1")
    assert submit(queue, job(3), most=2).id == "job3"


def test_a_full_queue_still_answers_a_known_key(queue):
    submit(queue, job(1), key="k", most=1)
    assert submit(queue, job(2, target="asset2"), key="k", most=1).id == "job1"


def test_jobs_are_listed_newest_first_page_by_page(queue):
    for number in range(1, 8):
        submit(queue, job(number, owner="ann" if number % 2 else "ben"))
    assert [each.id for each in queue.list("ann", limit=10, before=None)] == ["job7", "job5", "job3", "job1"]
    assert [each.id for each in queue.list(None, limit=3, before=None)] == ["job7", "job6", "job5"]
    assert [each.id for each in queue.list(None, limit=3, before="job5")] == ["job4", "job3", "job2"]
    assert [each.id for each in queue.list("ann", limit=2, before="job5")] == ["job3", "job1"]
    assert queue.list("nobody", limit=3, before=None) == []
    assert queue.list(None, limit=0, before=None) == []
    with pytest.raises(NotFoundError, match="there is no job gone to go on from"):
        queue.list(None, limit=3, before="gone")


def test_a_waiting_job_is_cancelled_at_once(queue, leases):
    submit(queue, job())
    cancelled = queue.cancel("job1")
    assert cancelled.state is JobState.CANCELLED
    assert cancelled.ended is not None
    assert queue.waiting()[Priority.NORMAL] == 0
    assert leases.acquire(Unit("job1", PLAN)) is None


def test_what_is_final_stays_as_it_is(queue, leases):
    submit(queue, job())
    complete(queue, leases, job())
    assert queue.cancel("job1").state is JobState.COMPLETED


def test_assets_are_in_use_until_the_job_is_final(queue, leases):
    submit(queue, job(sources=("face", "face")))
    submit(queue, job(2, sources=("face",)))
    assert queue.uses("face")
    assert queue.uses("asset2")
    queue.cancel("job1")
    assert queue.uses("face")
    assert not queue.uses("asset2")
    leases.fail(take(leases, Unit("job2", PLAN)), JobState.REJECTED, Fault("no", "", "ContentRefusedError"))
    assert not queue.uses("face")


def test_a_job_in_work_is_not_erased(queue):
    submit(queue, job())
    with pytest.raises(ConflictError, match="the job job1 is not at its end"):
        queue.erase("job1")


def test_an_erased_job_leaves_nothing(queue, leases, link):
    submit(queue, job(), key="k")
    complete(queue, leases, job())
    queue.erase("job1")
    assert queue.find("job1") is None
    assert queue.list(None, limit=9, before=None) == []
    left = {name.removeprefix(link.prefix).partition(":")[0] for name in link.call("KEYS", f"{link.prefix}*")}
    assert left == {"token", "once", "totals"}


def test_final_jobs_are_forgotten_after_a_while(link, leases):
    queue = RedisQueue(link, kept_seconds=0)
    submit(queue, job(1))
    queue.cancel("job1")
    submit(queue, job(2))
    assert queue.find("job1") is None
    assert [each.id for each in queue.list(None, limit=9, before=None)] == ["job2"]


def test_a_life_is_told_in_order(queue, leases):
    submit(queue, job())
    complete(queue, leases, job())
    done = queue.find("job1")
    assert done.state is JobState.COMPLETED
    assert done.result == RESULT
    assert done.report == {"frames": 15}
    assert done.progress == Progress(done=15, total=15, rate=0.0, segments_done=2, segments=2)
    assert done.created < done.started <= done.ended
    events = asyncio.run(collect(queue, "job1", after="0"))
    told = [(event.state, event.progress.done, event.progress.segments_done) for event in events]
    assert told == [
        (JobState.QUEUED, 0, 0),
        (JobState.RUNNING, 0, 0),
        (JobState.RUNNING, 0, 0),
        (JobState.RUNNING, 5, 1),
        (JobState.RUNNING, 15, 2),
        (JobState.COMPLETED, 15, 2),
    ]
    assert asyncio.run(collect(queue, "job1", after=events[3].id)) == events[4:]
    assert asyncio.run(collect(queue, "job1", after=events[-1].id)) == []
    assert asyncio.run(collect(queue, "job1")) == events[-1:]


def test_events_come_as_they_happen(queue, leases):
    submit(queue, job())

    async def watch():
        seen = []
        async for event in queue.events("job1", None):
            seen.append(event.state)
            if event.state is JobState.QUEUED:
                await asyncio.to_thread(leases.acquire, Unit("job1", PLAN))
            elif event.state is JobState.RUNNING:
                await asyncio.to_thread(queue.cancel, "job1")
        return seen

    assert asyncio.run(watch()) == [JobState.QUEUED, JobState.RUNNING, JobState.CANCELLED]


def test_there_are_no_events_of_nothing(queue):
    assert asyncio.run(collect(queue, "nobody")) == []
    assert asyncio.run(collect(queue, "nobody", after="5-0")) == []


def test_events_are_bounded(queue, leases, link):
    submit(queue, job())
    leases.commit_plan(take(leases, Unit("job1", PLAN)), {}, [1] * 300, "breed")
    for number in range(300):
        leases.commit_segment(take(leases, Unit("job1", str(number))), {})
    assert link.call("XLEN", link.key("events", "job1")) == 128


def test_the_end_of_a_job_is_told_when_its_events_are_gone(queue, leases, link):
    submit(queue, job())
    complete(queue, leases, job())
    events = asyncio.run(collect(queue, "job1", after="0"))
    assert 0 < link.call("TTL", link.key("events", "job1")) <= 3600
    link.call("DEL", link.key("events", "job1"))
    assert asyncio.run(collect(queue, "job1")) == events[-1:]
    assert asyncio.run(collect(queue, "job1", after=events[2].id)) == events[-1:]
    assert asyncio.run(collect(queue, "job1", after=events[-1].id)) == []


def test_the_oldest_waiting_job_is_known(queue):
    assert queue.oldest_waiting() is None
    submit(queue, job(5))
    submit(queue, job(3, priority=Priority.LOW))
    assert queue.oldest_waiting() == 1_700_000_003.0


def test_a_redis_that_is_away_is_told(redis_server):
    queue = RedisQueue(RedisLink(redis_server.url))
    submit(queue, job())
    redis_server.kill()
    with pytest.raises(ServiceUnavailableError, match="Redis cannot be used") as caught:
        queue.find("job1")
    assert "REDIS_URL" in caught.value.remedy
    redis_server.start()
    assert queue.find("job1") == job()
