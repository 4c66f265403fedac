"""Who works on what. A unit of a job is its plan, one of its segments, or the join of them.

Whoever takes a unit gets a lease of :data:`LEASE_SECONDS`, which it renews, and a fencing token, which is larger than
any that was given before. When a lease lapses, its worker counts as lost and the unit is queued again. What comes with
a token that is not the unit's newest is refused, however late it comes; so nothing is committed twice, and nobody has
to be sure that a worker is dead.

(The scheme is Kleppmann's: "How to do distributed locking", 2016. The token is what makes it safe, the lease only
what makes it quick.)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from facefusion.service.records import Fault, JobState, Result
from facefusion.service.redis_link import RedisLink
from facefusion.service.redis_queue import KEPT_SECONDS
from facefusion.service.redis_records import fault_text, result_text

LEASE_SECONDS = 30.0
"""A worker that says nothing for so long is lost."""
ROOM_SECONDS = 5.0
"""After how long a unit is offered again that a worker had no room for."""
MOST_LOST = 3
"""After so many workers that were lost with one unit its job is parked: it may well be what they die of."""
PAUSE_SECONDS = 5.0
"""Before a unit is begun for the third time; then twice as long each time. The second time is at once."""
PATIENCE_SECONDS = 60.0
"""A message, or a worker, of which nothing was seen for so long is gone."""
SENDING_SECONDS = 20.0
"""How long whoever sends messages has for it before others do."""
MOST_SENT = 100
"""Messages that are sent at a time."""

PLAN, JOIN = "plan", "join"

POISON = Fault(
    f"{MOST_LOST} workers were lost while they worked on it",
    "See in their logs what they died of, such as too little memory, and submit it again.",
    "WorkersLost",
)

Clock = Callable[[], float | None]
"""Seconds since 1970, or none for Redis's own clock."""


def by_redis() -> None:
    """The clock of the Redis that all share."""


@dataclass(frozen=True, slots=True)
class Unit:
    """What is taken, done and committed as a whole."""

    job: str
    name: str
    """:data:`PLAN`, :data:`JOIN`, or the number of a segment."""


@dataclass(frozen=True, slots=True)
class Lease:
    """A unit that is taken."""

    unit: Unit
    token: str
    """Larger than any before, as a number."""
    tries: int
    """How often it failed before."""


class Standing(Enum):
    """What became of a lease."""

    KEPT = "kept"
    LOST = "lost"
    """The unit is somebody else's, or will be."""
    FINAL = "final"
    """The job is, as when it was cancelled."""


@dataclass(frozen=True, slots=True)
class Message:
    """A unit that workers have to be told of."""

    unit: Unit
    queue: str
    """Celery's."""
    mark: str
    """Says whether it is this sending that was meant."""


@dataclass(frozen=True, slots=True)
class Swept:
    """What was found that nobody looked after."""

    lost: int
    """Units whose worker was lost."""
    resent: int
    """Messages that were lost."""
    replanned: int
    """Jobs whose plan no worker that is left can follow."""


@dataclass(frozen=True, slots=True)
class Work:
    """What is kept of a job's plan and segments."""

    plan: Mapping[str, object]
    manifests: Mapping[int, Mapping[str, object]]
    """Of the segments that are committed, by number."""


class Leases:
    """The leases of a fleet. Thread-safe.

    Args:
        link: to Redis.
        worker: name of whoever takes leases here.
        clock: another one in tests.
        lease_seconds: how long a lease is.
        kept_seconds: how long a job that is final is remembered.
    """

    def __init__(
        self,
        link: RedisLink,
        worker: str,
        clock: Clock = by_redis,
        *,
        lease_seconds: float = LEASE_SECONDS,
        kept_seconds: float = KEPT_SECONDS,
    ) -> None:
        self._link = link
        self._worker = worker
        self._clock = clock
        self._seconds = lease_seconds
        self._kept = kept_seconds
        self._on_loss = (MOST_LOST, PAUSE_SECONDS, fault_text(POISON), kept_seconds)

    @property
    def seconds(self) -> float:
        """How long a lease is."""
        return self._seconds

    def acquire(self, unit: Unit) -> Lease | None:
        """Take a unit; none where it is done, where its job is final, and where somebody has it.

        A message that comes twice is answered by none, and may be forgotten: a lease that lapses queues its unit by
        itself.
        """
        outcome = self._run("acquire", unit.job, unit.name, self._worker, self._seconds, *self._on_loss)
        if outcome[0] != "granted":
            return None
        return Lease(unit, outcome[1], outcome[2])

    def renew(self, lease: Lease, frames: int | None = None) -> Standing:
        """Keep a unit.

        Args:
            lease: of it.
            frames: how many of its frames are done; none where that is not counted.
        """
        done: int | str = "" if frames is None else frames
        return Standing(self._run("renew", *_words(lease), self._seconds, done))

    def commit_plan(self, lease: Lease, plan: Mapping[str, object], frames: Sequence[int], breed: str) -> bool:
        """Keep a plan and queue its segments; whether that was so.

        Args:
            lease: of the unit :data:`PLAN`.
            plan: fit for JSON.
            frames: of each segment.
            breed: of the workers that can follow it.
        """
        texts = json.dumps(dict(plan)), breed, json.dumps(list(frames))
        return self._is_kept(self._run("commit_plan", lease.unit.job, lease.token, *texts))

    def commit_segment(self, lease: Lease, manifest: Mapping[str, object]) -> bool:
        """Keep a segment's manifest; whether that was so. The last one queues the join."""
        outcome = self._run("commit_segment", *_words(lease), json.dumps(dict(manifest)))
        return self._is_kept(outcome)

    def complete(self, lease: Lease, result: Result, report: Mapping[str, object]) -> bool:
        """End a job well, whose result is in its place; whether that was so."""
        pairs = "result", result_text(result), "report", json.dumps(dict(report))
        return self._is_kept(self._run("conclude", *_words(lease), JobState.COMPLETED.value, self._kept, *pairs))

    def fail(self, lease: Lease, state: JobState, fault: Fault) -> bool:
        """End a job otherwise; whether that was so."""
        return self._is_kept(self._run("conclude", *_words(lease), state.value, self._kept, "fault", fault_text(fault)))

    def hand_back(self, lease: Lease, *, pause: float = 0.0, failed: bool = False) -> bool:
        """Give up a unit that is not done; whether it was ours still.

        Args:
            lease: of it.
            pause: seconds until it is queued again.
            failed: whether that counts as a try.
        """
        return self._is_kept(self._run("hand_back", *_words(lease), pause, int(failed)))

    def narrow(self, lease: Lease) -> bool:
        """Begin a job anew with frames one at a time; whether its unit was ours still.

        All that was planned and made of it is given up, since it was made of several at a time.
        """
        return self._is_kept(self._run("narrow", *_words(lease)))

    def pass_on(self, lease: Lease, breed: str) -> bool:
        """Give up a unit that the devices of this worker are too small for; false where nobody is left for it.

        It goes to other workers of this breed, else to another breed, which plans the job anew. Where every worker that
        is there gave it up, the lease stays.

        Args:
            lease: of the unit.
            breed: of this worker.
        """
        return bool(self._run("pass_on", *_words(lease), breed, self._worker, ROOM_SECONDS) != "held")

    def redo(self, lease: Lease, number: int) -> bool:
        """Give up a join since a segment is not what it should be: it is made anew, and the join comes after it.

        Args:
            lease: of the unit :data:`JOIN`.
            number: of the segment.
        """
        return self._is_kept(self._run("redo", lease.unit.job, lease.token, str(number)))

    def postpone(self, unit: Unit, pause: float) -> None:
        """Queue a unit again after so many seconds, whose message came and which was not taken."""
        self._run("postpone", unit.job, unit.name, pause)

    def work(self, job_id: str) -> Work | None:
        """Plan and manifests of a job; none where it is not planned, or final."""
        fields = self._link.call("HGETALL", self._link.key("work", job_id))
        if "plan" not in fields:
            return None
        start = "manifest:"
        manifests = {
            int(name.removeprefix(start)): json.loads(text) for name, text in fields.items() if name.startswith(start)
        }
        return Work(json.loads(fields["plan"]), manifests)

    def waiting(self, queues: Sequence[str]) -> int:
        """How many messages wait in some queues of Celery."""
        return sum(int(self._link.call("LLEN", queue)) for queue in queues)

    def due(self) -> list[Message]:
        """Units that messages have to be sent for, which is ours for :data:`SENDING_SECONDS`."""
        words = iter(self._run("due", MOST_SENT, SENDING_SECONDS))
        return [Message(Unit(job, name), queue, mark) for job, name, queue, mark in zip(*[words] * 4, strict=True)]

    def sent(self, messages: Sequence[Message]) -> None:
        """Say that messages are in Celery's hands."""
        words = [word for each in messages for word in (each.unit.job, each.unit.name, each.queue, each.mark)]
        if words:
            self._run("sent", *words)

    def beat(self, breed: str) -> None:
        """Say that this worker is there."""
        self._run("beat", breed, self._worker)

    def leave(self, breed: str) -> None:
        """Say that it is not any more."""
        self._link.call("ZREM", self._link.key("workers"), f"{breed}|{self._worker}")

    def sweep(self, queues: Sequence[str]) -> Swept:
        """Look after what nobody looks after.

        Args:
            queues: of Celery, where messages may have been lost.
        """
        return Swept(*self._run("sweep", *self._on_loss, PATIENCE_SECONDS, *queues))

    def _run(self, name: str, *words: str | float) -> Any:  # noqa: ANN401 - as the script has it
        return self._link.run(name, self._clock(), *words)

    @staticmethod
    def _is_kept(outcome: str) -> bool:
        return outcome in ("kept", "last")


def _words(lease: Lease) -> tuple[str, str, str]:
    return lease.unit.job, lease.unit.name, lease.token
