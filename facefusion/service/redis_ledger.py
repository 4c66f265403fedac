"""The ledger of uploads in Redis, where all replicas of the API see it."""

from __future__ import annotations

from facefusion.service.ledger import CLAIM_SECONDS
from facefusion.service.redis_link import RedisLink


class RedisLedger:
    """A :class:`~facefusion.service.ledger.Ledger` that machines share.

    Args:
        link: to Redis.
    """

    def __init__(self, link: RedisLink) -> None:
        self._link = link

    def claim(self, owner: str, upload: str, size: int) -> int:
        """See the port."""
        return int(self._link.run("claim", None, owner, upload, size, round(CLAIM_SECONDS)))

    def release(self, owner: str, upload: str) -> None:
        """See the port."""
        self._link.call("HDEL", self._link.key("coming", owner), upload)
