"""Parts of a worker by themselves."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import replace

import pytest

from facefusion.core.activity import Activity
from facefusion.core.stop import StopToken
from facefusion.memory.machine import Machine
from facefusion.observability.events import StageFinished, StageProgress, StageStarted
from facefusion.service import room
from facefusion.service.celery_app import worker_queues
from facefusion.service.errors import ServiceUnavailableError
from facefusion.service.lease_keeper import LeaseKeeper
from facefusion.service.leases import Lease, Standing, Swept, Unit
from facefusion.service.listening import Listening
from facefusion.service.pulse import Patience, Pulse
from facefusion.service.room import Room
from facefusion.service.tender import Tender
from tests.service.fakes import Clock

pytestmark = pytest.mark.service

LEASE = Lease(Unit("job1", "0"), "7", 0)
GIGABYTE = 10**9


def until(holds, seconds=10.0):
    """Wait until something holds; whether it came to that."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


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


class Watch:
    """Notes how long the process has."""

    def __init__(self) -> None:
        self.armed: list[float] = []

    def arm(self, seconds: float) -> None:
        self.armed.append(seconds)


class Models:
    """Says what it is told to of models."""

    def __init__(self) -> None:
        self.now = Activity()

    def __call__(self) -> Activity:
        return self.now


def keeper(register, *, counts=True, stop=None, pulse=None, watch=None):
    pulse = pulse or Pulse(Patience(), Models())
    return LeaseKeeper(
        register, LEASE, stop or StopToken(), pulse, watch or Watch(), counts=counts, seconds=0.001, grace=5.0
    )


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


def test_work_that_hangs_loses_its_lease_and_then_its_process():
    register, stop, watch = Register(), StopToken(), Watch()
    clock = Clock(0.0)
    pulse = Pulse(Patience(working=60.0, preparing=600.0), Models(), clock)
    with keeper(register, stop=stop, pulse=pulse, watch=watch) as kept:
        assert register.asked.wait(10)
        assert set(watch.armed) == {605.0}
        clock.now = 600.0
        assert until(lambda: stop.requested)
        told, armed = len(register.told), len(watch.armed)
    assert kept.standing is Standing.LOST
    assert (len(register.told), len(watch.armed)) == (told, armed)


def test_patience_is_short_with_frames_and_long_with_all_else():
    clock, models = Clock(0.0), Models()
    pulse = Pulse(Patience(working=10.0, preparing=100.0), models, clock)
    assert pulse.left() == 100.0
    clock.now = 40.0
    assert pulse.left() == 60.0
    pulse.emit(StageStarted("process", 20))
    assert pulse.left() == 10.0
    clock.now = 45.0
    assert pulse.left() == 5.0
    pulse.emit(StageProgress())
    assert pulse.left() == 10.0
    clock.now = 56.0
    assert pulse.left() == 0.0
    pulse.emit(StageFinished())
    assert pulse.left() == 100.0


def test_a_run_of_a_graph_is_a_sign_of_life_and_loading_one_may_take_long():
    clock, models = Clock(0.0), Models()
    pulse = Pulse(Patience(working=10.0, preparing=100.0), models, clock)
    pulse.emit(StageStarted("process", 20))
    clock.now = 9.0
    models.now = Activity(done=1)
    assert pulse.left() == 10.0
    clock.now = 18.0
    assert pulse.left() == 1.0
    models.now = Activity(done=1, is_loading=True)
    assert pulse.left() == 100.0
    clock.now = 117.0
    assert pulse.left() == 1.0
    models.now = Activity(done=2)
    assert pulse.left() == 10.0


def test_the_watchdog_ends_a_process_that_no_thread_of_python_could_end():
    code = (
        "import ctypes; from facefusion.service.pulse import Watchdog; dog = Watchdog(); dog.arm(60); dog.arm(0.2); "
        "ctypes.PyDLL(None).sleep(60)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 1
    assert 'File "<string>", line 1 in <module>' in done.stderr


def test_the_watchdog_may_be_called_off():
    code = (
        "import time; from facefusion.service.pulse import Watchdog; dog = Watchdog(); dog.arm(0.2); dog.disarm(); "
        "time.sleep(0.5)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=50, check=False).returncode == 0


@pytest.mark.parametrize(
    ("limit", "available", "held", "fault"),
    [
        (0.0, 2 * GIGABYTE, 0, ""),
        (0.0, GIGABYTE // 2, 0, "476 MiB of memory are free, and 1024 MiB are needed"),
        (0.0, GIGABYTE // 2, GIGABYTE, ""),
        (8.0, 6 * GIGABYTE, 3 * GIGABYTE, ""),
        (8.0, 6 * GIGABYTE, GIGABYTE, "6675 MiB of memory are free, and 7629 MiB are needed"),
    ],
)
def test_a_unit_is_begun_only_where_its_memory_is_free(monkeypatch, limit, available, held, fault):
    machine = Machine(cores=2, memory=16 * GIGABYTE, available=0, system="Linux")
    monkeypatch.setattr(room, "read_machine", lambda: replace(machine, available=available))
    assert Room(limit, lambda: held, lambda: "").shortage() == fault


def test_a_worker_says_what_keeps_it_from_its_work(monkeypatch):
    machine = Machine(cores=2, memory=16 * GIGABYTE, available=8 * GIGABYTE, system="Linux")
    monkeypatch.setattr(room, "read_machine", lambda: machine)
    video = [""]
    clock = Clock(0.0)
    own = Room(0.0, lambda: 0, lambda: video[0], clock)
    assert own.look() == ""
    own.miss("mesh takes about 2.1 GB of video memory, and 1 GB are free on device 0")
    assert own.shortage() == ""
    assert own.look() == "mesh takes about 2.1 GB of video memory, and 1 GB are free on device 0"
    video[0] = "100 MiB of video memory are free, and 1024 MiB are needed"
    assert own.shortage() == own.look() == "100 MiB of video memory are free, and 1024 MiB are needed"
    video[0] = ""
    clock.now = 59.0
    assert own.look() == own.missed == "mesh takes about 2.1 GB of video memory, and 1 GB are free on device 0"
    own.miss("")
    assert own.look() == own.missed == ""
    own.miss("the same")
    clock.now += 60.0
    assert own.look() == own.missed == "", "whatever it was is done by now, or somebody else's"


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

    def waiting(self, queues: Sequence[str]) -> int:
        self._do("waiting")
        return 3

    def look(self, waiting: int) -> None:
        assert waiting == 3
        self._do("look")

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
    return Tender(fleet, fleet, fleet, "breed", [], lambda: fleet.now)


def test_messages_are_sent_all_the_time(fleet, tender):
    assert fleet.times(tender, 4, "send") == [0, 1, 2, 3]


def test_a_worker_signs_in_at_once_and_every_five_seconds(fleet, tender):
    assert fleet.times(tender, 12, "beat") == [0, 5, 10]


def test_whether_messages_wait_in_vain_is_looked_at_every_five_seconds(fleet, tender):
    assert fleet.times(tender, 12, "look") == [0, 5, 10]


@pytest.mark.parametrize(
    ("looks", "begun_anew"),
    [
        ([3], 0),
        ([3, 3], 1),
        ([3, 0, 3], 0),
        ([3, 3, 3], 1),
        ([3, 3, 3, 3], 2),
        ([3, "message", 3], 0),
        ([3, "message", 3, 3], 1),
    ],
)
def test_an_idle_worker_that_hears_of_no_message_listens_anew(looks, begun_anew):
    done = []
    listening = Listening(lambda: done.append("anew"))
    for look in looks:
        if look == "message":
            with listening.heard():
                listening.look(3)
                listening.look(3)
        else:
            listening.look(look)
    assert len(done) == begun_anew


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
