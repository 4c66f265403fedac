"""What is on its way for whom, as every replica of the API is told."""

from __future__ import annotations

import pytest

from facefusion.service.ledger import CLAIM_SECONDS, MemoryLedger
from facefusion.service.redis_ledger import RedisLedger
from facefusion.service.redis_link import RedisLink

pytestmark = pytest.mark.service


@pytest.fixture(params=["memory", "redis"])
def ledgers(request):
    """Two replicas'."""
    if request.param == "memory":
        ledger = MemoryLedger()
        yield ledger, ledger
        return
    links = [RedisLink(request.getfixturevalue("redis_url")) for _ in range(2)]
    yield tuple(RedisLedger(link) for link in links)
    for link in links:
        link.close()


def test_claims_of_one_owner_add_up_over_replicas(ledgers):
    one, other = ledgers
    assert one.claim("ann", "a", 10) == 10
    assert other.claim("ann", "b", 5) == 15
    assert one.claim("ann", "a", 20) == 25
    assert other.claim("bob", "c", 1 << 50) == 1 << 50
    one.release("ann", "a")
    assert other.claim("ann", "b", 6) == 6
    other.release("ann", "nothing")
    other.release("ann", "b")
    assert one.claim("ann", "a", 0) == 0


def test_what_a_replica_that_was_killed_claimed_counts_no_more_after_a_while(redis_url):
    link = RedisLink(redis_url)

    def claim(now, upload, size):
        return int(link.run("claim", now, "ann", upload, size, round(CLAIM_SECONDS)))

    assert claim(1000.0, "lost", 10) == 10
    assert claim(1000.0 + CLAIM_SECONDS, "a", 1) == 11
    assert claim(1001.0 + CLAIM_SECONDS, "a", 1) == 1
    assert link.call("HKEYS", link.key("coming", "ann")) == ["a"]
    link.close()
