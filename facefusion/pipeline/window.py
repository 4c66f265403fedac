"""A bounded window of items worked on in parallel and given back in order.

One producer, a number of workers and the caller share one lock. At most ``window`` items are alive, from the moment
the producer asks for one until the caller has finished with its result; this is the back-pressure that keeps memory
independent of length. One of them is the caller's, so there are always fewer that wait or are worked on. Items are
begun in order, so no worker is ever idle while one waits. What has to be done in order besides, in the midst of the
work on an item, is done in the item's turn.

A failure of the producer or a worker is raised in the caller, in the failed item's place: the results before it are
given first, so what a broken run had finished does not depend on how far its threads were. Nothing behind it is begun,
and the threads are joined. A failure of the caller ends everything at the threads' next step.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Generic, Protocol, TypeAlias, TypeVar

from facefusion.core.errors import ResourceError
from facefusion.core.stop import StopToken
from facefusion.observability.stages import WAIT_FOR_FRAMES, WAIT_FOR_RESULTS, WAIT_FOR_ROOM, WAIT_FOR_TURN

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")

Timer: TypeAlias = Callable[[str], AbstractContextManager[None]]
"""Counts the time inside a block towards what it is given the name of."""

POLL_SECONDS = 0.1
"""How often a waiting thread looks whether a stop was requested."""


@dataclass(frozen=True, slots=True)
class WindowPlan:
    """How much may happen at once."""

    window: int
    """Most items alive at once, at least 1."""
    workers: int
    """Worker threads, at least 1."""


class Turn(Protocol):
    """The turn of one item: a context that is entered once the item before has left its own, or was done without.

    Work may take its turn once, or leave it.
    """

    def __enter__(self) -> None:
        """Wait for the turn."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the turn to the next item."""


def run_in_order(
    items: Iterable[ItemT],
    work: Callable[[ItemT, Turn], ResultT],
    plan: WindowPlan,
    stop: StopToken,
    under_pressure: Callable[[], bool] = lambda: False,
    watch: Callable[[], None] = lambda: None,
    timer: Timer = lambda _: nullcontext(),
) -> Generator[ResultT, None, None]:
    """Apply ``work`` to each item on several threads and yield the results in the order of the items.

    Args:
        items: iterated on a thread of its own, one item at a time.
        work: called from ``plan.workers`` threads with an item and its turn.
        plan: the bounds.
        stop: looked at between items; a request raises :class:`~facefusion.core.errors.Stopped` here.
        under_pressure: while true, no further item is begun until all that are alive have left.
        watch: called now and then while a result is waited for, however long it takes; what it raises ends everything.
        timer: counts what threads wait for, by :data:`~facefusion.observability.stages.WAITS`.

    Raises:
        ResourceError: the system gives no more threads.

    Yields:
        One result per item. An item counts as alive until the next one is asked for.
    """
    window: _Window[ItemT, ResultT] = _Window(plan, stop, under_pressure, watch, timer)
    with ThreadPoolExecutor(max_workers=plan.workers + 1, thread_name_prefix="frames") as executor:
        try:
            _start(executor, window, iter(items), work, plan.workers)
            yield from window.results()
        finally:
            window.close()


def _start(
    executor: ThreadPoolExecutor,
    window: _Window[ItemT, ResultT],
    items: Iterator[ItemT],
    work: Callable[[ItemT, Turn], ResultT],
    workers: int,
) -> None:
    try:
        executor.submit(window.produce, items)
        for _ in range(workers):
            executor.submit(window.consume, work)
    except RuntimeError as error:  # Python's own word for a thread that the system refuses
        raise ResourceError(
            f"the system does not start {workers + 1} threads", "Lower --execution-thread-count, or raise the limit."
        ) from error


class _ClosedError(BaseException):
    """A turn will not come, since an item before failed or the window was closed; none of the work's business."""


class _Turns:
    """Whose turn it is. Every method is called with the window's lock held."""

    def __init__(self) -> None:
        self.next = 0
        """Number of the item whose turn it is."""
        self._done: set[int] = set()
        """Items behind that which are through already."""

    def over(self, number: int) -> None:
        """An item has had its turn, or needs none; harmless a second time."""
        if number >= self.next:
            self._done.add(number)
        while self.next in self._done:
            self._done.remove(self.next)
            self.next += 1


class _ItemTurn:
    """Implements :class:`Turn`."""

    def __init__(
        self,
        over: threading.Condition,
        pause: Callable[[threading.Condition, str], None],
        turns: _Turns,
        number: int,
        is_given_up: Callable[[], bool],
    ) -> None:
        self._over = over
        self._pause = pause
        self._turns = turns
        self._number = number
        self._is_given_up = is_given_up

    def __enter__(self) -> None:
        with self._over:
            while self._turns.next != self._number:
                if self._is_given_up():
                    raise _ClosedError
                self._pause(self._over, WAIT_FOR_TURN)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._over:
            self._turns.over(self._number)
            self._over.notify_all()


class _Window(Generic[ItemT, ResultT]):
    """The state that the producer, the workers and the caller share, under one lock.

    Who waits for something else is not woken: each wake takes a core from who works.
    """

    def __init__(
        self,
        plan: WindowPlan,
        stop: StopToken,
        under_pressure: Callable[[], bool],
        watch: Callable[[], None],
        timer: Timer,
    ) -> None:
        self._plan = plan
        self._stop = stop
        self._under_pressure = under_pressure
        self._watch = watch
        self._timer = timer
        self._most_ready = max(1, plan.window - plan.workers - 1)
        self._lock = threading.Lock()
        self._room = threading.Condition(self._lock)
        """The producer waits for it."""
        self._items = threading.Condition(self._lock)
        """Workers wait for them."""
        self._turn_over = threading.Condition(self._lock)
        """Workers wait for it, each until it is its own item's turn."""
        self._result = threading.Condition(self._lock)
        """The caller waits for the one that is next in order."""
        self._ready: deque[tuple[int, ItemT]] = deque()
        self._turns = _Turns()
        self._done: dict[int, ResultT] = {}
        self._wanted = 0
        """Number of the item whose result the caller asks for next."""
        self._alive = 0
        self._produced = 0
        self._exhausted = False
        self._closed = False
        self._failure: BaseException | None = None
        self._failed = 0
        """Number of the item that the failure came with; of several that failed the first."""

    def close(self) -> None:
        """Make every thread return at its next step."""
        with self._lock:
            self._closed = True
            self._wake_everyone()

    def produce(self, items: Iterator[ItemT]) -> None:
        """Run by the producer's thread."""
        try:
            while self._wait_for_room():
                try:
                    item = next(items)
                except StopIteration:
                    break
                with self._lock:
                    self._ready.append((self._produced, item))
                    self._produced += 1
                    self._items.notify()
                del item
        except BaseException as failure:  # noqa: BLE001 - raised again in the caller
            self._fail(failure, self._produced)
        with self._lock:
            self._exhausted = True
            self._items.notify_all()
            self._result.notify()

    def consume(self, work: Callable[[ItemT, Turn], ResultT]) -> None:
        """Run by each worker's thread."""
        number = 0
        try:
            while (taken := self._take()) is not None:
                number, item = taken
                del taken
                turn = _ItemTurn(self._turn_over, self._pause, self._turns, number, partial(self._is_given_up, number))
                result = work(item, turn)
                del item
                with self._lock:
                    self._turns.over(number)
                    self._turn_over.notify_all()
                    self._done[number] = result
                    if number == self._wanted:
                        self._result.notify()
                del result
        except _ClosedError:
            return
        except BaseException as failure:  # noqa: BLE001 - raised again in the caller
            self._fail(failure, number)

    def results(self) -> Iterator[ResultT]:
        """Run by the caller: results in order."""
        while True:
            self._stop.check()  # also where the caller is the slow one, and a result always ready
            with self._lock:
                while self._wanted not in self._done:
                    self._check()
                    if self._exhausted and self._wanted >= self._produced:
                        return
                    self._pause(self._result, WAIT_FOR_RESULTS)
                result = self._done.pop(self._wanted)
                self._wanted += 1
            yield result
            del result
            with self._lock:
                self._alive -= 1
                self._room.notify()

    def _check(self) -> None:
        if self._failure is not None and self._wanted >= self._failed:
            raise self._failure
        self._stop.check()
        self._watch()

    def _wait_for_room(self) -> bool:
        """Wait until one more item may live, and count it; false when there is nothing left to do."""
        with self._lock:
            while not self._is_given_up(self._produced):
                has_room = self._alive < self._plan.window and len(self._ready) < self._most_ready
                if has_room and not (self._alive and self._under_pressure()):
                    self._alive += 1
                    return True
                self._pause(self._room, WAIT_FOR_ROOM)
        return False

    def _take(self) -> tuple[int, ItemT] | None:
        """The next item in order; none when there is nothing left to do."""
        with self._lock:
            while not self._closed:
                if self._ready and self._is_given_up(self._ready[0][0]):
                    return None
                if self._ready:
                    self._room.notify()
                    return self._ready.popleft()
                if self._exhausted:
                    return None
                self._pause(self._items, WAIT_FOR_FRAMES)
        return None

    def _pause(self, condition: threading.Condition, what: str) -> None:
        """Wait for a condition, or until it is time to look. Lock held."""
        with self._timer(what):
            condition.wait(POLL_SECONDS)

    def _wake_everyone(self) -> None:
        for condition in (self._room, self._items, self._turn_over, self._result):
            condition.notify_all()

    def _is_given_up(self, number: int) -> bool:
        """Whether nobody will ask for an item. Lock held."""
        return self._closed or (self._failure is not None and number > self._failed)

    def _fail(self, failure: BaseException, number: int) -> None:
        with self._lock:
            if self._failure is None or number < self._failed:
                self._failure, self._failed = failure, number
            self._wake_everyone()
