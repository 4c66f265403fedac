"""Ready is a process that has what it needs, and the answer never hangs and tells no secrets."""

from __future__ import annotations

import threading

import pytest

from facefusion.core.errors import ModelError
from facefusion.service.errors import ServiceUnavailableError
from facefusion.service.health import Readiness, disk_look, models_look, queue_look, storage_look


class Queue:
    def __init__(self, is_there=True):
        self.is_there = is_there

    def waiting(self):
        if not self.is_there:
            raise ServiceUnavailableError("redis://:secret@redis-7:6379 does not answer", "Start it.")
        return {}


class Store:
    def __init__(self, free):
        self.free = free

    def free_bytes(self):
        return self.free


def test_ready_is_who_has_all(tmp_path):
    looks = {
        "queue": queue_look(Queue()),
        "storage": storage_look(Store(1 << 30)),
        "disk": disk_look([tmp_path], least=1),
        "models": models_look(list),
    }
    health = Readiness(looks).look()
    assert health.is_ready
    assert health.document() == {
        "status": "ready",
        "checks": {"queue": "ok", "storage": "ok", "disk": "ok", "models": "ok"},
    }


@pytest.mark.parametrize(
    ("look", "fault"),
    [
        (queue_look(Queue(is_there=False)), "cannot be used"),
        (storage_look(Store(3 << 20), least=5 << 20), "3 MiB are free, and 5 MiB are needed"),
        (models_look(lambda: ["scrfd", "arcface"]), "missing: scrfd, arcface"),
    ],
)
def test_what_is_missing_is_named(look, fault):
    health = Readiness({"part": look, "other": lambda: ""}).look()
    assert not health.is_ready
    assert health.document() == {"status": "not ready", "checks": {"part": fault, "other": "ok"}}


def test_storage_without_a_known_limit_has_room():
    assert storage_look(Store(None))() == ""


def test_a_folder_that_is_gone_is_told_without_its_name(tmp_path):
    health = Readiness({"disk": disk_look([tmp_path / "mary"])}).look()
    assert health.parts == {"disk": "cannot be used"}


def test_a_part_may_come_later_and_be_another():
    readiness = Readiness({"worker": lambda: "is starting"})
    assert readiness.look().parts == {"worker": "is starting"}
    readiness.add("worker", lambda: "")
    readiness.add("queue", queue_look(Queue(is_there=False)))
    assert readiness.look().parts == {"worker": "", "queue": "cannot be used"}


def test_a_look_that_breaks_is_an_answer_too(caplog):
    def broken():
        raise KeyError("secret")

    assert Readiness({"part": broken}).look().parts == {"part": "could not be looked at"}
    assert "part could not be looked at" in caplog.text


def test_who_cannot_read_models_is_not_ready():
    def refusing():
        raise ModelError("a model cannot be read", "Change permissions.")

    assert Readiness({"models": models_look(refusing)}).look().parts == {"models": "cannot be used"}


def test_a_look_that_hangs_is_not_begun_again_and_believed_when_it_comes_back():
    begun, back = [], threading.Event()

    def hanging():
        begun.append(1)
        back.wait(30)
        return ""

    readiness = Readiness({"share": hanging, "disk": lambda: ""}, patience=0.05, fresh=0)
    assert readiness.look().parts == {"share": "gives no answer within 0.05 seconds", "disk": ""}
    assert not readiness.look().is_ready
    assert begun == [1]
    back.set()
    readiness._patience = 30
    assert readiness.look().is_ready
    assert begun == [1]


def test_an_answer_holds_for_a_moment():
    asked, now = [], [100.0]

    def look():
        asked.append(1)
        return ""

    readiness = Readiness({"part": look}, fresh=2, clock=lambda: now[0])
    readiness.look()
    now[0] = 101.9
    readiness.look()
    assert asked == [1]
    now[0] = 102.0
    readiness.look()
    assert asked == [1, 1]
