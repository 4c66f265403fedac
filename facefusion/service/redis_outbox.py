"""The outbox in Redis, which whatever ends a job puts its call into, in the same script."""

from __future__ import annotations

from facefusion.service.outbox import Call
from facefusion.service.redis_link import RedisLink
from facefusion.service.redis_records import job_of


class RedisOutbox:
    """An :class:`~facefusion.service.outbox.Outbox` that all replicas of the API share. Thread-safe.

    Args:
        link: to Redis.
    """

    def __init__(self, link: RedisLink) -> None:
        self._link = link

    def take(self, hold: float) -> Call | None:
        """See the port."""
        found = self._link.run("take_call", None, hold)
        if not found:
            return None
        job_id, tries = found
        fields = self._link.call("HGETALL", self._link.key("job", job_id))
        return Call(job_of(job_id, fields), int(tries)) if fields else None

    def postpone(self, job_id: str, seconds: float) -> None:
        """See the port."""
        self._link.run("postpone_call", None, job_id, seconds)

    def cross_out(self, job_id: str) -> None:
        """See the port."""
        self._link.call("ZREM", self._link.key("calls"), job_id)
