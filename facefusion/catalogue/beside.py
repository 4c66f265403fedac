"""Waiting for what cannot be interrupted, such as a server that says nothing, without being held up by it."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator
from dataclasses import dataclass
from typing import Generic, TypeVar

from facefusion.core.stop import POLL_SECONDS, StopToken

ItemT = TypeVar("ItemT")

AHEAD = 4
"""Items that may wait to be taken."""


@dataclass(frozen=True, slots=True)
class _Arrived(Generic[ItemT]):
    item: ItemT


@dataclass(frozen=True, slots=True)
class _Ended:
    failure: BaseException | None


def beside(items: Generator[ItemT, None, None], stop: StopToken) -> Generator[ItemT, None, None]:
    """Iterate on a thread of its own, and hand the items on in their order.

    The thread is left behind where the caller goes while an item is waited for; it then ends by itself as soon as the
    item is there, and closes the iteration. So ``items`` may only wait and read.

    Args:
        items: iterated by the thread alone, which is a daemon: the end of the process does not wait for it.
        stop: looked at while nothing arrives.

    Raises:
        Stopped: a stop was asked for.
        BaseException: what ``items`` raised.

    Yields:
        Each item.
    """
    arrivals: queue.Queue[_Arrived[ItemT] | _Ended] = queue.Queue(AHEAD)
    left = threading.Event()
    threading.Thread(target=_iterate, args=(items, arrivals, left), name="beside", daemon=True).start()
    try:
        while True:
            stop.check()
            try:
                arrival = arrivals.get(timeout=POLL_SECONDS)
            except queue.Empty:
                continue
            if isinstance(arrival, _Arrived):
                yield arrival.item
            elif arrival.failure is not None:
                raise arrival.failure
            else:
                return
    finally:
        left.set()


def _iterate(
    items: Generator[ItemT, None, None], arrivals: queue.Queue[_Arrived[ItemT] | _Ended], left: threading.Event
) -> None:
    failure: BaseException | None = None
    try:
        for item in items:
            if not _put(_Arrived(item), arrivals, left):
                break
    except BaseException as error:  # noqa: BLE001 - raised again in the caller
        failure = error
    finally:
        items.close()
    _put(_Ended(failure), arrivals, left)


def _put(
    arrival: _Arrived[ItemT] | _Ended, arrivals: queue.Queue[_Arrived[ItemT] | _Ended], left: threading.Event
) -> bool:
    """Wait for room; false if nobody takes anything any more."""
    while not left.is_set():
        try:
            arrivals.put(arrival, timeout=POLL_SECONDS)
        except queue.Full:
            continue
        return True
    return False
