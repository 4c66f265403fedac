from __future__ import annotations

import threading

import pytest

from facefusion.catalogue.beside import AHEAD, beside
from facefusion.core.errors import Stopped
from facefusion.core.stop import StopToken

TIMEOUT = 10.0


def test_items_come_in_order_and_a_failure_comes_last():
    def items():
        yield from range(20)
        raise OSError("cut off")

    taken: list[int] = []
    with pytest.raises(OSError, match="cut off"):
        taken.extend(beside(items(), StopToken()))
    arrivals = beside((number for number in range(20)), StopToken())
    assert list(arrivals) == list(range(20))


def test_a_stop_is_not_held_up_by_what_never_comes():
    answer, closed = threading.Event(), threading.Event()
    stop = StopToken()

    def items():
        try:
            yield 1
            answer.wait(TIMEOUT)
            yield 2
        finally:
            closed.set()

    arrivals = beside(items(), stop)
    assert next(arrivals) == 1
    stop.request("Ctrl-C")
    with pytest.raises(Stopped, match="Ctrl-C"):
        next(arrivals)
    assert not closed.is_set()
    answer.set()
    assert closed.wait(TIMEOUT)


def test_no_more_is_read_than_a_few_items_ahead():
    read, at_the_limit = [], threading.Event()

    def items():
        for number in range(100):
            read.append(number)
            if number == AHEAD + 1:
                at_the_limit.set()
            yield number

    arrivals = beside(items(), StopToken())
    assert next(arrivals) == 0
    assert at_the_limit.wait(TIMEOUT)
    assert len(read) == AHEAD + 2
    arrivals.close()
