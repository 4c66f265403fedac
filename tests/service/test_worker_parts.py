"""Parts of a worker by themselves."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

import pytest

from facefusion.core.stop import StopToken
from facefusion.memory.machine import Machine
from facefusion.observability.events import StageProgress, StageStarted
from facefusion.service import worker
from facefusion.service.celery_app import worker_queues
from facefusion.service.errors import ServiceUnavailableError
from facefusion.service.lease_keeper import LeaseKeeper
from facefusion.service.leases import Lease, Standing, Swept, Unit
from facefusion.service.tender import Tender
from facefusion.service.worker import MemoryRoom

pytestmark = pytest.mark.service

LEASE = Lease(Unit("job1", "0"), "7", 0)
GIGABYTE = 10**9


class Register:
    """Says what it is told to of a lease, and notes what was said to it."""

    def __init__(self, *answers: Standing | Exception) -> None:
        self._answers = list(answers)
        self.told: list[int | None] = []
        self.asked = threading.Event()

    def renew(self, lease: Lease, frames: int | None = None) -> Standing:
        self.told.append(frames)
        answer = self._answers.pop(0) if self._answers else Standing.KEPT
        if not self._answers:
            self.asked.set()
        if isinstance(answer, Exception):
            raise answer
        return answer


def keeper(register, *, counts=True, stop=None):
    return LeaseKeeper(register, LEASE, stop or StopToken(), counts=counts, seconds=0.001)


def test_frames_of_the_stage_at_hand_are_told():
    register = Register()
    kept = keeper(register)
    for event in (
        StageStarted("fetch", 10_000, "B"),
        StageProgress(5_000),
        StageStarted("process", 20),
        StageProgress(),
        StageProgress(3, earlier=True),
    ):
        kept.emit(event)
    kept.renew()
    assert register.told == [4]


def test_where_frames_are_not_counted_none_are_told():
    register = Register()
    kept = keeper(register, counts=False)
    kept.emit(StageStarted("analyse", 20))
    kept.emit(StageProgress(3))
    kept.renew()
    assert register.told == [None]


@pytest.mark.parametrize("standing", [Standing.LOST, Standing.FINAL])
def test_the_work_is_stopped_where_it_has_become_pointless(standing):
    register, stop = Register(Standing.KEPT, standing), StopToken()
    with keeper(register, stop=stop) as kept:
        assert register.asked.wait(10)
    assert stop.requested
    assert kept.standing is standing


def test_the_work_goes_on_while_nobody_can_be_asked():
    register, stop = (
        Register(ServiceUnavailableError("away"), ServiceUnavailableError("away"), Standing.KEPT),
        StopToken(),
    )
    with keeper(register, stop=stop) as kept:
        assert register.asked.wait(10)
    assert not stop.requested
    assert kept.standing is Standing.KEPT


@pytest.mark.parametrize(
    ("limit", "available", "held", "holds"),
    [
        (0.0, 2 * GIGABYTE, 0, True),
        (0.0, GIGABYTE // 2, 0, False),
        (0.0, GIGABYTE // 2, GIGABYTE, True),
        (8.0, 6 * GIGABYTE, 3 * GIGABYTE, True),
        (8.0, 6 * GIGABYTE, GIGABYTE, False),
    ],
)
def test_a_unit_is_begun_only_where_its_memory_is_free(monkeypatch, limit, available, held, holds):
    machine = Machine(cores=2, memory=16 * GIGABYTE, available=0, system="Linux")
    monkeypatch.setattr(worker, "read_machine", lambda: replace(machine, available=available))
    assert MemoryRoom(limit, lambda: held)() is holds


class Fleet:
    """Notes what is done for it; while it is away, nothing can be."""

    seconds = 30.0

    def __init__(self) -> None:
        self.now = 0.0
        self.is_away = False
        self.done: list[str] = []

    def _do(self, what: str) -> None:
        if self.is_away:
            raise ServiceUnavailableError("Redis cannot be used")
        self.done.append(what)

    def send_due(self) -> int:
        self._do("send")
        return 0

    def beat(self, breed: str) -> None:
        self._do("beat")

    def leave(self, breed: str) -> None:
        self._do("leave")

    def sweep(self, queues: Sequence[str]) -> Swept:
        self._do("sweep")
        return Swept(1, 0, 0)

    def times(self, tender: Tender, seconds: int, what: str) -> list[float]:
        """When something was done in so many seconds."""
        found = []
        for _ in range(seconds):
            self.done.clear()
            tender.look()
            found += [self.now] if what in self.done else []
            self.now += 1
        return found


@pytest.fixture
def fleet():
    return Fleet()


@pytest.fixture
def tender(fleet):
    return Tender(fleet, fleet, "breed", [], lambda: fleet.now)


def test_messages_are_sent_all_the_time(fleet, tender):
    assert fleet.times(tender, 4, "send") == [0, 1, 2, 3]


def test_a_worker_signs_in_at_once_and_every_five_seconds(fleet, tender):
    assert fleet.times(tender, 12, "beat") == [0, 5, 10]


def test_nothing_is_swept_before_redis_has_answered_for_the_length_of_a_lease(fleet, tender, caplog):
    assert fleet.times(tender, 42, "sweep") == [30, 35, 40]
    assert "units of lost workers 1" in caplog.text
    fleet.is_away = True
    assert fleet.times(tender, 8, "sweep") == []
    fleet.is_away = False
    assert fleet.times(tender, 32, "sweep") == [79]


def test_that_redis_is_away_is_said_once(fleet, tender, caplog):
    fleet.is_away = True
    fleet.times(tender, 5, "send")
    fleet.is_away = False
    fleet.times(tender, 5, "send")
    assert [record.getMessage() for record in caplog.records] == ["Redis cannot be used.", "Redis is back"]


def test_signing_off_can_fail(fleet, tender, caplog):
    tender.leave()
    assert fleet.done == ["leave"]
    fleet.is_away = True
    tender.leave()
    assert "not signed off" in caplog.text


def test_queues_are_emptied_by_priority_and_what_is_begun_first():
    assert worker_queues("b7") == [
        "facefusion.high.b7",
        "facefusion.high",
        "facefusion.normal.b7",
        "facefusion.normal",
        "facefusion.low.b7",
        "facefusion.low",
    ]
