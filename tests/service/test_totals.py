"""A queue counts how jobs ended, however that was, and knows it still when they are erased."""

from __future__ import annotations

import pytest

from facefusion.service.leases import MOST_LOST, PLAN, Leases, Unit
from facefusion.service.memory_queue import MemoryQueue
from facefusion.service.records import Fault, JobState
from facefusion.service.redis_link import RedisLink
from facefusion.service.redis_queue import RedisQueue
from tests.service.jobs import job

pytestmark = pytest.mark.service


@pytest.fixture
def link(redis_url):
    link = RedisLink(redis_url)
    yield link
    link.close()


def ended(queue):
    return {state: count for state, count in queue.ended().items() if count}


def submit(queue, *ids):
    for one in ids:
        queue.submit(job(id=one), idempotency_key=None, most_waiting=100)


def test_of_a_fleet(link):
    queue, now = RedisQueue(link), [1000.0]
    leases = Leases(link, "worker", clock=lambda: now[0])
    assert ended(queue) == {}
    assert queue.retries() == 0

    submit(queue, "cancelled", "failed", "parked")
    queue.cancel("cancelled")
    queue.cancel("cancelled")
    lease = leases.acquire(Unit("failed", PLAN))
    assert lease is not None
    leases.fail(lease, JobState.FAILED, Fault("torn", "Mend it.", "MediaError"))
    for _ in range(MOST_LOST):
        while leases.acquire(Unit("parked", PLAN)) is None:
            now[0] += 1
        now[0] += leases.seconds
        leases.sweep([])  # its worker is gone, and could not count it
    expected = {JobState.CANCELLED: 1, JobState.FAILED: 1, JobState.PARKED: 1}
    assert ended(queue) == expected
    assert queue.retries() == MOST_LOST

    for one in ("cancelled", "failed", "parked"):
        queue.erase(one)
    assert ended(queue) == expected


def test_of_one_process():
    queue = MemoryQueue()
    submit(queue, "cancelled", "done", "stopped")
    queue.cancel("cancelled")
    queue.cancel("cancelled")
    for one, state in (("done", JobState.COMPLETED), ("stopped", JobState.CANCELLED)):
        taken = queue.take(0)
        assert taken is not None
        assert taken.id == one
        queue.finish(one, state)
    queue.erase("done")
    assert ended(queue) == {JobState.CANCELLED: 2, JobState.COMPLETED: 1}
    assert queue.retries() == 0
