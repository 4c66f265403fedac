"""The bounded window: order, bounds, no idle worker, and failures from every side."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facefusion.core.errors import ResourceError, Stopped
from facefusion.core.stop import StopToken
from facefusion.pipeline.window import WindowPlan, run_in_order

TIMEOUT = 10.0


def threads_of_windows() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("frames")]


@settings(max_examples=60)
@given(
    count=st.integers(0, 40),
    workers=st.integers(1, 6),
    window=st.integers(1, 9),
    grain=st.integers(1, 8),
)
def test_every_item_comes_back_once_and_in_order(count: int, workers: int, window: int, grain: int) -> None:
    plan = WindowPlan(window=window, workers=workers, grain=grain)
    assert list(run_in_order(range(count), lambda number: number * number, plan, StopToken())) == [
        number * number for number in range(count)
    ]
    assert threads_of_windows() == []


@settings(max_examples=30)
@given(workers=st.integers(1, 4), window=st.integers(1, 8), grain=st.integers(1, 8))
def test_no_more_items_than_the_window_are_alive(workers: int, window: int, grain: int) -> None:
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

    for _ in run_in_order(items(), lambda number: number, WindowPlan(window, workers, grain), StopToken()):
        with lock:
            finished += 1
    assert most <= window


@pytest.mark.parametrize("grain", [1, 4, 64])
@pytest.mark.parametrize("length", [2, 3, 5, 9])
def test_no_worker_is_idle_while_a_frame_waits(length: int, grain: int) -> None:
    """With two workers, any two unfinished frames are worked on at once, however many a worker takes at a time.

    The first frame blocks until every other frame is finished, so all of them must be done by the second worker, even
    those that the first one took along with its own.
    """
    others_done = threading.Semaphore(0)

    def work(number: int) -> int:
        if number == 0:
            for _ in range(length - 1):
                assert others_done.acquire(timeout=TIMEOUT), "a frame waited while a worker was idle"
        else:
            others_done.release()
        return number

    plan = WindowPlan(window=length, workers=2, grain=grain)
    assert list(run_in_order(range(length), work, plan, StopToken())) == list(range(length))


def test_all_workers_work_at_once() -> None:
    together = threading.Barrier(4, timeout=TIMEOUT)

    def work(number: int) -> int:
        together.wait()
        return number

    assert len(list(run_in_order(range(8), work, WindowPlan(8, 4, 2), StopToken()))) == 8


def test_failure_of_a_worker_is_raised_in_the_caller() -> None:
    def work(number: int) -> int:
        if number == 7:
            raise ValueError("seven")
        return number

    seen: list[int] = []
    with pytest.raises(ValueError, match="seven"):
        seen.extend(run_in_order(range(100), work, WindowPlan(4, 2, 1), StopToken()))
    assert seen == list(range(len(seen)))
    assert len(seen) <= 7
    assert threads_of_windows() == []


def test_failure_of_the_producer_is_raised_in_the_caller() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise OSError("the file ended")

    with pytest.raises(OSError, match="the file ended"):
        list(run_in_order(items(), lambda number: number, WindowPlan(2, 2, 1), StopToken()))
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
    results = run_in_order(source, lambda number: number, WindowPlan(3, 2, 1), StopToken())
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
        for number in run_in_order(endless(), lambda number: number, WindowPlan(3, 2, 1), stop):
            if number == 5:
                stop.request("test")
    assert threads_of_windows() == []


def test_a_stop_request_is_heard_where_the_next_result_is_always_ready() -> None:
    stop = StopToken()
    all_done = threading.Event()

    def work(number: int) -> int:
        if number == 2:
            all_done.set()
        return number

    taken = []
    with pytest.raises(Stopped):
        for number in run_in_order(range(3), work, WindowPlan(3, 1, 1), stop):
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

    plan = WindowPlan(window=6, workers=2, grain=2)
    for _ in run_in_order(items(), lambda number: number, plan, StopToken(), under_pressure=lambda: pressed):
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
        list(run_in_order(range(100), lambda number: number, WindowPlan(2, 8, 1), StopToken()))
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
        list(run_in_order([1], lambda _: released.wait(TIMEOUT), WindowPlan(2, 1, 1), StopToken(), watch=watch))
    assert asked == 3
    assert threads_of_windows() == []
