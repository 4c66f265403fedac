"""The bounded window: order, bounds, turns, no idle worker, and failures from every side."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facefusion.core.errors import ResourceError, Stopped
from facefusion.core.stop import StopToken
from facefusion.observability.stages import WAIT_FOR_FRAMES, WAIT_FOR_RESULTS, WAIT_FOR_ROOM, WAIT_FOR_TURN, WAITS
from facefusion.pipeline import window
from facefusion.pipeline.window import Turn, WindowPlan, run_in_order

TIMEOUT = 10.0
"""Seconds after which what is waited for counts as lost. Far more than any of these tests takes."""


def bounded(
    items: Iterable[int],
    work: Callable[[int, Turn], Any],
    plan: WindowPlan,
    stop: StopToken,
    under_pressure: Callable[[], bool] = lambda: False,
    watch: Callable[[], None] = lambda: None,
) -> Generator[Any, None, None]:
    """:func:`run_in_order`, which fails where a result does not come: a lost turn would hang the tests for ever."""
    waited = time.monotonic()

    def watch_the_clock() -> None:
        watch()
        assert time.monotonic() - waited < TIMEOUT, "a result never came"

    with closing(run_in_order(items, work, plan, stop, under_pressure, watch_the_clock)) as results:
        for result in results:
            yield result
            waited = time.monotonic()


def test_a_result_that_never_comes_fails_a_test_and_does_not_hang_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.TIMEOUT", 0.2)
    monkeypatch.setattr(window._Turns, "over", lambda turns, number: None)

    def work(number: int, turn: Turn) -> int:
        with turn:
            return number

    with pytest.raises(AssertionError, match="a result never came"):
        list(bounded(range(4), work, WindowPlan(3, 2), StopToken()))
    assert threads_of_windows() == []


def as_it_is(number: int, turn: Turn) -> int:
    return number


def square(number: int, turn: Turn) -> int:
    return number * number


def threads_of_windows() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("frames")]


@settings(max_examples=60)
@given(
    count=st.integers(0, 40),
    workers=st.integers(1, 6),
    window=st.integers(1, 9),
)
def test_every_item_comes_back_once_and_in_order(count: int, workers: int, window: int) -> None:
    plan = WindowPlan(window=window, workers=workers)
    assert list(bounded(range(count), square, plan, StopToken())) == [number * number for number in range(count)]
    assert threads_of_windows() == []


@settings(max_examples=30)
@given(workers=st.integers(1, 4), window=st.integers(1, 8))
def test_no_more_items_than_the_window_are_alive(workers: int, window: int) -> None:
    lock = threading.Lock()
    begun = 0
    finished = 0
    most = 0

    def items() -> Iterator[int]:
        nonlocal begun, most
        for number in range(50):
            with lock:
                begun += 1
                most = max(most, begun - finished)
            yield number

    for _ in bounded(items(), as_it_is, WindowPlan(window, workers), StopToken()):
        with lock:
            finished += 1
    assert most <= window


@pytest.mark.parametrize("length", [2, 3, 5, 9])
def test_no_worker_is_idle_while_an_item_waits(length: int) -> None:
    """The first item blocks until every other is finished, so all of them must be done by the second worker."""
    others_done = threading.Semaphore(0)

    def work(number: int, turn: Turn) -> int:
        if number == 0:
            for _ in range(length - 1):
                assert others_done.acquire(timeout=TIMEOUT), "an item waited while a worker was idle"
        else:
            others_done.release()
        return number

    plan = WindowPlan(window=length, workers=2)
    assert list(bounded(range(length), work, plan, StopToken())) == list(range(length))


@settings(max_examples=30)
@given(
    waits=st.lists(st.sampled_from([0.0, 0.0, 0.001, 0.003]), max_size=30),
    takes=st.sets(st.integers(0, 29)),
    workers=st.integers(1, 5),
    window=st.integers(1, 8),
)
def test_turns_come_one_at_a_time_in_order_whoever_is_quick(
    waits: list[float], takes: set[int], workers: int, window: int
) -> None:
    """Also where some items leave their turn."""
    had: list[int] = []
    inside = threading.Semaphore(1)

    def work(number: int, turn: Turn) -> int:
        threading.Event().wait(waits[number])
        if number in takes:
            with turn:
                assert inside.acquire(blocking=False), "two turns at once"
                had.append(number)
                inside.release()
        return number

    count = len(waits)
    assert list(bounded(range(count), work, WindowPlan(window, workers), StopToken())) == list(range(count))
    assert had == sorted(takes & set(range(count)))


def test_only_the_turn_is_waited_for() -> None:
    """The first item stays in its turn until the second is ready for its own, and after it until that is through."""
    ready, through = threading.Event(), threading.Event()

    def work(number: int, turn: Turn) -> int:
        if number == 0:
            with turn:
                assert ready.wait(TIMEOUT)
            assert through.wait(TIMEOUT)
        else:
            ready.set()
            with turn:
                through.set()
        return number

    assert list(bounded(range(2), work, WindowPlan(2, 2), StopToken())) == [0, 1]


def test_who_waits_for_a_turn_that_never_comes_is_let_go_by_a_failure() -> None:
    waiting = threading.Barrier(3, timeout=TIMEOUT)
    beyond: list[int] = []

    def work(number: int, turn: Turn) -> int:
        waiting.wait()
        if number == 0:
            raise ValueError("nought")
        with turn:
            beyond.append(number)
        return number

    with pytest.raises(ValueError, match="nought"):
        list(bounded(range(9), work, WindowPlan(3, 3), StopToken()))
    assert beyond == []
    assert threads_of_windows() == []


def test_a_failure_in_a_turn_is_raised_in_the_caller() -> None:
    def work(number: int, turn: Turn) -> int:
        with turn:
            if number == 3:
                raise ValueError("three")
        return number

    seen: list[int] = []
    with pytest.raises(ValueError, match="three"):
        seen.extend(bounded(range(50), work, WindowPlan(6, 3), StopToken()))
    assert seen == [0, 1, 2]
    assert threads_of_windows() == []


def test_who_waits_for_a_turn_is_let_go_by_a_stop_request() -> None:
    stop = StopToken()
    in_turn = threading.Event()
    beyond: list[int] = []

    def work(number: int, turn: Turn) -> int:
        if number == 0:
            with turn:
                in_turn.set()
                stop.request("test")
                assert closed.wait(TIMEOUT)
        else:
            assert in_turn.wait(TIMEOUT)
            with turn:
                beyond.append(number)
        return number

    closed = threading.Event()
    results = bounded(range(9), work, WindowPlan(3, 3), stop, watch=lambda: None)
    threading.Timer(0.3, closed.set).start()
    with pytest.raises(Stopped):
        next(results)
    assert beyond == []
    assert threads_of_windows() == []


def test_all_workers_work_at_once() -> None:
    together = threading.Barrier(4, timeout=TIMEOUT)

    def work(number: int, turn: Turn) -> int:
        together.wait()
        return number

    assert len(list(bounded(range(8), work, WindowPlan(8, 4), StopToken()))) == 8


def test_failure_of_a_worker_is_raised_in_the_caller() -> None:
    def work(number: int, turn: Turn) -> int:
        if number == 7:
            raise ValueError("seven")
        return number

    seen: list[int] = []
    with pytest.raises(ValueError, match="seven"):
        seen.extend(bounded(range(100), work, WindowPlan(4, 2), StopToken()))
    assert seen == list(range(7))
    assert threads_of_windows() == []


@settings(max_examples=40)
@given(
    waits=st.lists(st.sampled_from([0.0, 0.0, 0.001, 0.003]), min_size=12, max_size=12),
    bad=st.sets(st.integers(0, 11), min_size=1, max_size=3),
    ends=st.integers(0, 14),
    takes_turns=st.booleans(),
    workers=st.integers(1, 5),
    window=st.integers(1, 8),
)
def test_what_lies_before_a_failure_is_given_however_the_threads_ran(
    waits: list[float], bad: set[int], ends: int, takes_turns: bool, workers: int, window: int
) -> None:
    """Workers fail on some items and the producer at one: what the caller sees first is the first of them in order."""
    begun: list[int] = []

    def items() -> Iterator[int]:
        yield from range(min(ends, 12))
        raise OSError(f"item {ends}")

    def work(number: int, turn: Turn) -> int:
        begun.append(number)
        threading.Event().wait(waits[number])
        if takes_turns:
            with turn:
                pass
        if number in bad:
            raise ValueError(f"item {number}")
        return number

    first = min(*bad, ends, 12)
    seen: list[int] = []
    with pytest.raises((OSError, ValueError), match=f"^item {first if first in bad and first < ends else ends}$"):
        seen.extend(bounded(items(), work, WindowPlan(window, workers), StopToken()))
    assert seen == list(range(first))
    assert max(begun, default=0) < first + max(window, workers + 1)
    assert threads_of_windows() == []


def test_failure_of_the_producer_is_raised_in_the_caller() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise OSError("the file ended")

    seen: list[int] = []
    with pytest.raises(OSError, match="the file ended"):
        seen.extend(bounded(items(), as_it_is, WindowPlan(2, 2), StopToken()))
    assert seen == [1]
    assert threads_of_windows() == []


def test_failure_of_the_caller_ends_the_threads_and_closes_the_producer() -> None:
    closed = threading.Event()

    def items() -> Generator[int, None, None]:
        try:
            number = 0
            while True:
                yield number
                number += 1
        finally:
            closed.set()

    source = items()
    results = bounded(source, as_it_is, WindowPlan(3, 2), StopToken())
    assert next(results) == 0
    results.close()
    assert threads_of_windows() == []
    source.close()
    assert closed.is_set()


def test_a_stop_request_ends_an_endless_run() -> None:
    stop = StopToken()

    def endless() -> Iterator[int]:
        number = 0
        while True:
            yield number
            number += 1

    with pytest.raises(Stopped):
        for number in bounded(endless(), as_it_is, WindowPlan(3, 2), stop):
            if number == 5:
                stop.request("test")
    assert threads_of_windows() == []


def test_a_stop_request_is_heard_where_the_next_result_is_always_ready() -> None:
    stop = StopToken()
    all_done = threading.Event()

    def work(number: int, turn: Turn) -> int:
        if number == 2:
            all_done.set()
        return number

    taken = []
    with pytest.raises(Stopped):
        for number in bounded(range(3), work, WindowPlan(3, 1), stop):
            taken.append(number)
            assert all_done.wait(TIMEOUT)
            stop.request("test")
    assert taken == [0]


def test_under_pressure_one_item_at_a_time_is_alive() -> None:
    alive = 0
    most_under_pressure = 0
    pressed = True
    lock = threading.Lock()

    def items() -> Iterator[int]:
        nonlocal alive, most_under_pressure
        for number in range(10):
            with lock:
                alive += 1
                most_under_pressure = max(most_under_pressure, alive)
            yield number

    plan = WindowPlan(window=6, workers=2)
    for _ in bounded(items(), as_it_is, plan, StopToken(), under_pressure=lambda: pressed):
        with lock:
            alive -= 1
    assert most_under_pressure == 1


def test_threads_that_the_system_refuses_end_the_work_instead_of_hanging_it(monkeypatch: pytest.MonkeyPatch) -> None:
    submit = ThreadPoolExecutor.submit
    started: list[object] = []

    def refuse_the_third(executor: ThreadPoolExecutor, *call: Any) -> object:
        if len(started) == 2:
            raise RuntimeError("can't start new thread")
        started.append(submit(executor, *call))
        return started[-1]

    monkeypatch.setattr(ThreadPoolExecutor, "submit", refuse_the_third)
    with pytest.raises(ResourceError, match=r"^the system does not start 9 threads\. Lower --execution-thread-count"):
        list(bounded(range(100), as_it_is, WindowPlan(2, 8), StopToken()))
    assert threads_of_windows() == []


def test_what_watches_is_asked_while_a_slow_item_is_waited_for() -> None:
    released = threading.Event()
    asked = 0

    def watch() -> None:
        nonlocal asked
        asked += 1
        if asked == 3:
            released.set()
            raise ResourceError("over the limit")

    with pytest.raises(ResourceError, match="over the limit"):
        list(bounded([1], lambda _, turn: released.wait(TIMEOUT), WindowPlan(2, 1), StopToken(), watch=watch))
    assert asked == 3
    assert threads_of_windows() == []


def test_what_each_thread_waits_for_is_counted_by_name() -> None:
    """Frames come once a worker waits for one; work goes on once all others wait for it."""
    waiting = {name: threading.Event() for name in WAITS}

    @contextmanager
    def timer(name: str) -> Iterator[None]:
        waiting[name].set()
        yield

    def items() -> Iterator[int]:
        assert waiting[WAIT_FOR_FRAMES].wait(TIMEOUT)
        yield from range(4)

    def work(number: int, turn: Turn) -> int:
        if number == 0:
            assert all(waiting[name].wait(TIMEOUT) for name in (WAIT_FOR_TURN, WAIT_FOR_ROOM, WAIT_FOR_RESULTS))
        with turn:
            return number

    assert list(run_in_order(items(), work, WindowPlan(3, 2), StopToken(), timer=timer)) == [0, 1, 2, 3]
