"""How often one user may ask: a window that moves, in Redis where all replicas of the API share it."""

from __future__ import annotations

from ipaddress import IPv4Address, ip_address, ip_network

import limits
from limits.errors import StorageError
from limits.storage import storage_from_string
from limits.strategies import MovingWindowRateLimiter

from facefusion.service.errors import RateLimitError, ServiceUnavailableError

IN_MEMORY = "memory://"
PREFIX = "facefusion:rate"
FAILURES_PER_MINUTE = 30
"""Requests with a wrong token, or none, that one address may make before it is told to wait."""
SCRAPES_PER_MINUTE = 120
"""Times that one user may ask one process for its metrics; Prometheus does four."""
SECONDS = 20
"""After which asking again is worth it."""


class RateLimits:
    """Counts requests.

    Args:
        per_minute: of one user; 0 for any number.
        redis_url: where they are counted; in this process where none.

    Raises:
        limits.errors.ConfigurationError: the address is none.
    """

    def __init__(self, per_minute: int, redis_url: str | None) -> None:
        options = {"wrap_exceptions": True} if redis_url else {}
        storage = storage_from_string(redis_url or IN_MEMORY, **options)
        self._limiter = MovingWindowRateLimiter(storage)
        self._own = MovingWindowRateLimiter(storage_from_string(IN_MEMORY))
        self._scrapes = limits.RateLimitItemPerMinute(SCRAPES_PER_MINUTE)
        self._requests = limits.RateLimitItemPerMinute(per_minute) if per_minute else None
        self._failures = limits.RateLimitItemPerMinute(FAILURES_PER_MINUTE)

    def count_request(self, subject: str) -> None:
        """Count a request of a user.

        Raises:
            RateLimitError: they ask too often.
            ServiceUnavailableError: Redis cannot be reached.
        """
        if self._requests is not None and not self._hit(self._requests, "subject", subject):
            raise RateLimitError(
                f"you made more than {self._requests.amount} requests in a minute", "Wait a little.", seconds=SECONDS
            )

    def count_scrape(self, subject: str) -> None:
        """Count a request for metrics, in this process alone: they are wanted most when Redis is away.

        Raises:
            RateLimitError: they ask too often.
        """
        if not self._own.hit(self._scrapes, PREFIX, "scrape", subject):
            raise RateLimitError(
                f"you asked for metrics more than {SCRAPES_PER_MINUTE} times in a minute",
                "Wait a little.",
                seconds=SECONDS,
            )

    def count_failure(self, address: str) -> None:
        """Count a request whose token does not hold.

        Raises:
            RateLimitError: there were many from that address.
            ServiceUnavailableError: Redis cannot be reached.
        """
        if not self._hit(self._failures, "address", _network(address)):
            raise RateLimitError("many requests came from your address without a valid token", "Wait a minute.")

    def _hit(self, item: limits.RateLimitItem, kind: str, name: str) -> bool:
        try:
            return self._limiter.hit(item, PREFIX, kind, name)
        except StorageError as error:
            raise ServiceUnavailableError("requests cannot be counted", "Try again in a minute.") from error


def _network(address: str) -> str:
    """What one attacker has: of IPv6 the 64 bits that are given to a line, whose other addresses cost nothing."""
    try:
        found = ip_address(address)
    except ValueError:
        return address
    if isinstance(found, IPv4Address) or found.ipv4_mapped is not None:
        return address
    return str(ip_network((found, 64), strict=False))
