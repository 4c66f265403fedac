"""Workers erase what is over, one at a time."""

from __future__ import annotations

import pytest

from facefusion.service.errors import ServiceUnavailableError
from facefusion.service.redis_link import RedisLink
from facefusion.service.retention import SWEEP_SECONDS
from facefusion.service.sweeping import TURN, FleetSweep

pytestmark = pytest.mark.service


class Sweeps:
    """Stands for a retention."""

    def __init__(self) -> None:
        self.count = 0
        self.error: Exception | None = None

    def sweep(self) -> None:
        self.count += 1
        if self.error is not None:
            raise self.error


@pytest.fixture
def link(redis_url):
    link = RedisLink(redis_url)
    yield link
    link.close()


def test_one_worker_at_a_time_sweeps_and_not_too_often(link):
    sweeps = Sweeps()
    workers = [FleetSweep(link, sweeps.sweep) for _ in range(3)]
    for worker in workers:
        worker.look()
    assert sweeps.count == 1
    assert SWEEP_SECONDS - 60 < int(link.call("TTL", link.key(TURN))) <= SWEEP_SECONDS
    link.call("DEL", link.key(TURN))
    workers[2].look()
    workers[0].look()
    assert sweeps.count == 2


@pytest.mark.parametrize("error", [ServiceUnavailableError("the storage cannot be used"), ZeroDivisionError("defect")])
def test_what_goes_wrong_is_said_and_tried_again_the_next_time(link, caplog, error):
    sweeps = Sweeps()
    sweeps.error = error
    worker = FleetSweep(link, sweeps.sweep)
    worker.look()
    assert "what has expired could not be erased" in caplog.text
    sweeps.error = None
    link.call("DEL", link.key(TURN))
    worker.look()
    assert sweeps.count == 2


def test_without_redis_nothing_is_swept(redis_server, caplog):
    link, sweeps = RedisLink(redis_server.url), Sweeps()
    redis_server.kill()
    FleetSweep(link, sweeps.sweep).look()
    assert sweeps.count == 0
    assert "what has expired could not be erased: Redis cannot be used" in caplog.text
    link.close()
