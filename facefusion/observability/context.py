"""What is worked on at the moment, which goes with everything that is said in JSON.

A context variable knows it where calls, tasks and coroutines are. Threads that a run starts inherit none; while the
process works on one thing alone, theirs is that one.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from types import MappingProxyType

NOTHING: Mapping[str, object] = MappingProxyType({})

_mine: ContextVar[Mapping[str, object]] = ContextVar("facefusion_work", default=NOTHING)
_under_way: list[Mapping[str, object]] = []
_lock = threading.Lock()


@contextlib.contextmanager
def working_on(fields: Mapping[str, object]) -> Iterator[None]:
    """Say, while the block is under way, what is worked on.

    Args:
        fields: values of JSON by their keys; those of a block around this one stay beside them.
    """
    joined = MappingProxyType({**_mine.get(), **fields})
    token = _mine.set(joined)
    with _lock:
        _under_way.append(joined)
    try:
        yield
    finally:
        with _lock:
            # By identity: two blocks may say the same.
            _under_way[:] = [one for one in _under_way if one is not joined]
        _mine.reset(token)


def work_at_hand() -> Mapping[str, object]:
    """What this thread works on; empty where that is nothing, or cannot be told."""
    mine = _mine.get()
    if mine:
        return mine
    with _lock:
        if not _under_way:
            return NOTHING
        innermost = _under_way[-1]
        # Blocks within one another are one piece of work, whose innermost says most.
        return innermost if all(one.items() <= innermost.items() for one in _under_way) else NOTHING
