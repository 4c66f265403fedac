"""Keeping an encoder's threads from ranking above everything else on the machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_TASKS = Path("/proc/self/task")


@contextmanager
def ordinary_scheduling() -> Iterator[None]:
    """Give this thread, and those started meanwhile, the scheduling back that this thread had.

    Where the system lets it, as it does for the root of many containers, SVT-AV1 gives its threads, and the one that
    opens it, the highest real-time priority, and leaves it so. Every thread and process that they start inherits it.
    Two runs with it kept a machine of two cores from anything else for a quarter of an hour. Linux only: elsewhere
    the encoder does not do so.
    """
    if sys.platform != "linux" or not _TASKS.is_dir():
        yield
        return
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    before = _threads()
    try:
        yield
    finally:
        for thread in (0, *(_threads() - before)):
            with suppress(OSError):  # the thread has ended, or is not ours to change
                if os.sched_getscheduler(thread) != policy:
                    os.sched_setscheduler(thread, policy, parameters)


def _threads() -> frozenset[int]:
    return frozenset(int(name) for name in os.listdir(_TASKS))  # noqa: PTH208 - names alone
