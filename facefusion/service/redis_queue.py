"""The queue of jobs in Redis."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any

import redis.asyncio

from facefusion.service.errors import (
    FAIR_SHARES,
    MOST_KEPT,
    ConflictError,
    NotFoundError,
    QueueFullError,
    too_many_kept,
)
from facefusion.service.ledger import Ledger
from facefusion.service.outbox import Outbox
from facefusion.service.records import JobEvent, JobRecord, JobState, Priority
from facefusion.service.redis_ledger import RedisLedger
from facefusion.service.redis_link import BLOCK_SECONDS, RedisLink, reaching
from facefusion.service.redis_outbox import RedisOutbox
from facefusion.service.redis_records import content_digest, event_of, job_of, record_text

KEPT_SECONDS = 7 * 24 * 3600.0
"""How long a job that is final is remembered."""
ONCE_SECONDS = 24 * 3600
"""How long an idempotency key counts."""
EVENT_FIELDS = ("last", "state", "done", "total", "rate", "segments_done", "segments")
"""Of a job, that say how it stands; ``last`` is the id of its last event."""
MOST_LISTED = 1000
"""Jobs that one listing gives at most."""


class RedisQueue:
    """A :class:`~facefusion.service.ports.JobQueue` that all machines of a fleet share. Thread-safe.

    What a method changes it changes in one script, so that a crash at any moment leaves all of it or nothing. Jobs are
    handed to workers by messages, which are sent by whoever is next: ``announce`` here, or a worker a second later.

    Args:
        link: to Redis.
        announce: sends what messages are due; where none is given, workers do.
        kept_seconds: how long a job that is final is remembered.
    """

    def __init__(
        self, link: RedisLink, announce: Callable[[], None] | None = None, kept_seconds: float = KEPT_SECONDS
    ) -> None:
        self._link = link
        self._announce = announce
        self._kept = kept_seconds
        self.most_kept = MOST_KEPT
        """Jobs of one owner that are known at a time."""
        self.ledger: Ledger = RedisLedger(link)
        """See the port."""
        self.outbox: Outbox = RedisOutbox(link)
        """See the port."""

    def submit(self, job: JobRecord, *, idempotency_key: str | None, most_waiting: int) -> JobRecord:
        """See the port. A job whose id is in use already is a conflict too."""
        once = "" if idempotency_key is None else sha256(f"{job.owner}\0{idempotency_key}".encode()).hexdigest()
        outcome, job_id = self._link.run(
            "submit",
            None,
            job.id,
            record_text(job),
            job.owner,
            job.priority.value,
            job.created,
            most_waiting,
            once,
            content_digest(job),
            ONCE_SECONDS,
            self.most_kept,
            most_waiting // FAIR_SHARES,
            *dict.fromkeys(job.assets),
        )
        if outcome == "conflict":
            raise ConflictError(
                "the idempotency key was used for another job", "Use a new one, or ask for the very same again."
            )
        if outcome == "full":
            raise QueueFullError(f"{most_waiting} jobs wait already", "Try again later.")
        if outcome == "too many":
            raise too_many_kept(self.most_kept)
        if outcome == "queued" and self._announce is not None:
            self._announce()
        return self._expect(job_id)

    def find(self, job_id: str) -> JobRecord | None:
        """See the port."""
        fields = self._link.call("HGETALL", self._link.key("job", job_id))
        return job_of(job_id, fields) if fields else None

    def list(self, owner: str | None, *, limit: int, before: str | None) -> Sequence[JobRecord]:
        """See the port. At most :data:`MOST_LISTED` are listed at a time.

        Raises:
            NotFoundError: the job ``before`` which to go on is not there any more.
        """
        index = self._link.key("jobs") if owner is None else self._link.key("jobs-of", owner)
        first = 0
        if before is not None:
            rank = self._link.call("ZREVRANK", index, before)
            if rank is None:
                raise NotFoundError(f"there is no job {before} to go on from", "List from the newest on.")
            first = rank + 1
        last = first + min(limit, MOST_LISTED) - 1
        names = self._link.call("ZREVRANGE", index, first, last) if last >= first else []
        found = (self.find(name) for name in names)
        return [job for job in found if job is not None]

    def cancel(self, job_id: str) -> JobRecord | None:
        """See the port. The job is final at once; whoever works on it finds out within seconds."""
        self._link.run("cancel", None, job_id, self._kept)
        return self.find(job_id)

    def erase(self, job_id: str) -> None:
        """See the port.

        Raises:
            ConflictError: it is not final.
        """
        if self._link.run("erase", None, job_id) == "open":
            raise ConflictError(f"the job {job_id} is not at its end", "Cancel it first.")

    async def events(self, job_id: str, after: str | None) -> AsyncIterator[JobEvent]:
        """See the port. Where no event is named, the first one is how the job stands."""
        client = self._link.listener()
        try:
            with reaching():
                while (now := await self._standing(client, job_id)) is not None:
                    if after is None:
                        yield now
                        after = now.id
                    if now.state.is_final and now.id == after:
                        return
                    news = await self._news(client, job_id, after, is_final=now.state.is_final)
                    # What a job came to is known for longer than how it went.
                    for event in news or ([now] if now.state.is_final else ()):
                        yield event
                        after = event.id
        finally:
            await client.aclose()

    async def _standing(self, client: redis.asyncio.Redis, job_id: str) -> JobEvent | None:
        """The last event of a job; none where there is no such job."""
        values = await client.execute_command("HMGET", self._link.key("job", job_id), *EVENT_FIELDS)
        fields = dict(zip(EVENT_FIELDS, values, strict=True))
        return event_of(fields["last"], fields) if fields["last"] else None

    async def _news(
        self, client: redis.asyncio.Redis, job_id: str, after: str, *, is_final: bool
    ) -> Sequence[JobEvent]:
        """Events behind one; where there are none, they are waited for, unless none will come."""
        wait = () if is_final else ("BLOCK", round(BLOCK_SECONDS * 1000))
        words = ("XREAD", *wait, "STREAMS", self._link.key("events", job_id), after)
        return [event_of(event_id, fields) for event_id, fields in _entries(await client.execute_command(*words))]

    def waiting(self) -> Mapping[Priority, int]:
        """See the port."""
        return {each: self._link.call("ZCARD", self._link.key("waiting", each.value)) for each in Priority}

    def oldest_waiting(self) -> float | None:
        """When the job that waits longest was submitted, in seconds since 1970; none where none waits."""
        times = []
        for each in Priority:
            first = self._link.call("ZRANGE", self._link.key("waiting", each.value), 0, 0, "WITHSCORES")
            times += [float(score) for _, score in first]
        return min(times, default=None)

    def kept_bytes(self, owner: str) -> int:
        """See the port."""
        return int(self._link.call("HGET", self._link.key("kept"), owner) or 0)

    def uses(self, asset_id: str) -> bool:
        """See the port."""
        return bool(self._link.call("EXISTS", self._link.key("uses", asset_id)))

    def workers(self) -> int:
        """How many workers were seen of late."""
        return int(self._link.call("ZCARD", self._link.key("workers")))

    def ended(self) -> Mapping[JobState, int]:
        """See the port."""
        finals = [state for state in JobState if state.is_final]
        counts = self._link.call("HMGET", self._link.key("totals"), *(state.value for state in finals))
        return {state: int(count or 0) for state, count in zip(finals, counts, strict=True)}

    def retries(self) -> int:
        """See the port."""
        return int(self._link.call("HGET", self._link.key("totals"), "retries") or 0)

    def _expect(self, job_id: str) -> JobRecord:
        job = self.find(job_id)
        if job is None:
            raise NotFoundError(f"the job {job_id} was erased meanwhile", "Submit it again.")
        return job


def _entries(news: Any) -> Any:  # noqa: ANN401 - a list of streams, or a mapping in the newer protocol
    if not news:
        return []
    if isinstance(news, dict):
        return next(iter(news.values()))[0]
    return news[0][1]
