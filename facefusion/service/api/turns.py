"""Who may use what there is little of: so many at a time, and fewer of one user, whose pile holds up no others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary


class Turns:
    """Turns at something, in the order in which they are asked for. For one event loop.

    Args:
        most: at a time.
        most_of_one: of them of one user.
    """

    def __init__(self, most: int, most_of_one: int) -> None:
        self._all = asyncio.Semaphore(most)
        self._most_of_one = most_of_one
        self._own: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def taken(self, subject: str) -> AsyncIterator[None]:
        """A turn, for as long as the context is open."""
        own = self._own.setdefault(subject, asyncio.Semaphore(self._most_of_one))
        async with own, self._all:
            yield
