"""The way to Redis: one connection pool, one voice for what can go wrong, and scripts that change all at once."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

import redis
import redis.asyncio
from redis.commands.core import Script

from facefusion.core.errors import OptionError
from facefusion.service.errors import ServiceUnavailableError

PREFIX = "facefusion:"
"""Of every key of ours; Celery's have other names."""

SOCKET_SECONDS = 10.0
"""A Redis that says nothing for so long counts as not there."""
BLOCK_SECONDS = 5.0
"""How long one wait for news lasts; below :data:`SOCKET_SECONDS`."""

Word = str | int | float


@contextlib.contextmanager
def reaching() -> Iterator[None]:
    """Say in our own words that Redis cannot be used.

    Raises:
        ServiceUnavailableError: it cannot be reached, takes no more, or is no Redis that suffices.
    """
    try:
        yield
    except redis.exceptions.AuthenticationError as error:
        raise ServiceUnavailableError("Redis does not let us in", "Put user and password into REDIS_URL.") from error
    except redis.exceptions.RedisError as error:
        text = " ".join(str(error).split())
        remedy = "See that redis-server runs and that REDIS_URL names it."
        raise ServiceUnavailableError(f"Redis cannot be used: {text}", remedy) from error


@cache
def _text(name: str) -> str:
    """Source of a script, with what all have in common in front."""
    folder = files("facefusion.service") / "lua"
    common = (folder / "jobs.lua").read_text(encoding="utf-8")
    return f"{common}\n{(folder / f'{name}.lua').read_text(encoding='utf-8')}"


class RedisLink:
    """Commands and scripts of one Redis. Thread-safe.

    Args:
        url: such as ``redis://:password@host:6379/0``.
        prefix: of all keys.

    Raises:
        OptionError: the address is none.
    """

    def __init__(self, url: str, prefix: str = PREFIX) -> None:
        self.url = url
        self.prefix = prefix
        try:
            self._client = redis.Redis.from_url(url, decode_responses=True, socket_timeout=SOCKET_SECONDS)
        except ValueError as error:
            raise OptionError(
                f"REDIS_URL is no address of a Redis: {error}", "Write it as redis://host:6379/0."
            ) from error
        self._scripts: dict[str, Script] = {}

    def key(self, name: str, part: str = "") -> str:
        """A key of ours: ``name``, or ``name:part``."""
        return f"{self.prefix}{name}:{part}" if part else f"{self.prefix}{name}"

    def call(self, *words: Word) -> Any:  # noqa: ANN401 - as the command has it
        """Run one command; its answer as Redis gives it.

        Raises:
            ServiceUnavailableError: Redis cannot be used.
        """
        with reaching():
            return self._client.execute_command(*words)

    def run(self, name: str, now: float | None, *words: Word) -> Any:  # noqa: ANN401 - as the script has it
        """Run a script: all that it changes, it changes at once.

        Args:
            name: of its file.
            now: seconds since 1970; by Redis's own clock where none is given.
            words: what it is told.

        Raises:
            ServiceUnavailableError: Redis cannot be used.
        """
        script = self._scripts.get(name)
        if script is None:
            script = self._scripts[name] = self._client.register_script(_text(name))
        with reaching():
            return script(keys=[self.prefix], args=["" if now is None else now, *words])

    def listener(self) -> redis.asyncio.Redis:
        """A client for the loop that runs, which has to be closed there."""
        return redis.asyncio.Redis.from_url(self.url, decode_responses=True, socket_timeout=SOCKET_SECONDS)

    def close(self) -> None:
        """Let go of all connections."""
        self._client.close()
