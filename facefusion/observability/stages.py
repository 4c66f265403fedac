"""Counting the seconds that each stage of the work is busy."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from types import TracebackType
from typing import ParamSpec, TypeVar

CONTENT = "content"
"""The content filter judges."""
WAIT_FOR_ROOM = "wait for room"
"""What decodes frames and follows them waits until others are done with: the workers are what the run waits for."""
WAIT_FOR_FRAMES = "wait for frames"
"""Workers wait for a frame to work on."""
WAIT_FOR_TURN = "wait for turn"
"""Workers wait for the frame before theirs."""
WAIT_FOR_RESULTS = "wait for results"
"""What encodes waits for a finished frame."""
WAIT_FOR_CONTENT = "wait for content"
"""What follows frames waits until the last picture that the content filter looked at is judged."""
WAITS = (WAIT_FOR_ROOM, WAIT_FOR_FRAMES, WAIT_FOR_TURN, WAIT_FOR_RESULTS, WAIT_FOR_CONTENT)
"""Stages in which a thread does nothing."""

Given = ParamSpec("Given")
ResultT = TypeVar("ResultT")


class StageClock:
    """Adds up seconds per stage over all threads. Thread-safe.

    A stage that begins within another one on the same thread is taken out of it, so that all stages add up to the time
    of the outermost. Each thread counts by itself: dozens of times a frame nobody waits for a lock.
    """

    def __init__(self) -> None:
        self._mine = threading.local()
        self._lock = threading.Lock()
        self._counts: list[dict[str, _Sums]] = []

    def measure(self, stage: str) -> AbstractContextManager[None]:
        """Count the time inside the block towards ``stage``."""
        return _Block(self, stage)

    def seconds(self) -> dict[str, float]:
        """Busy seconds per stage so far, waiting included."""
        return self._summed(lambda sums: sums.busy)

    def processor_seconds(self) -> dict[str, float]:
        """Seconds of the processor per stage so far, as far as the stages' own threads used it."""
        return self._summed(lambda sums: sums.processor)

    def add(self, stage: str, busy: float, processor: float) -> None:
        """Count what was measured on this thread."""
        counts: dict[str, _Sums] | None = getattr(self._mine, "counts", None)
        if counts is None:
            counts = self._mine.counts = {}
            with self._lock:
                self._counts.append(counts)
        sums = counts.get(stage)
        if sums is None:
            sums = counts[stage] = _Sums()
        sums.busy += busy
        sums.processor += processor

    def _summed(self, part: Callable[[_Sums], float]) -> dict[str, float]:
        total: dict[str, float] = {}
        with self._lock:
            counts = list(self._counts)
        for of_one_thread in counts:
            for stage, sums in of_one_thread.copy().items():
                total[stage] = total.get(stage, 0.0) + part(sums)
        return total


class _Sums:
    """Of one stage on one thread, in seconds."""

    __slots__ = ("busy", "processor")

    def __init__(self) -> None:
        self.busy = self.processor = 0.0


def stage(name: str) -> AbstractContextManager[None]:
    """Count the time inside the block towards a stage of the clock whose stage this thread is in; of none, nothing.

    For work deep below what holds the clock.
    """
    block: _Block | None = getattr(_thread, "block", None)
    return nullcontext() if block is None else _Block(block.clock, name)


def staged(name: str) -> Callable[[Callable[Given, ResultT]], Callable[Given, ResultT]]:
    """A decorator that counts all time in a function as :func:`stage` does."""

    def decorate(work: Callable[Given, ResultT]) -> Callable[Given, ResultT]:
        @wraps(work)
        def counted(*values: Given.args, **named: Given.kwargs) -> ResultT:
            with stage(name):
                return work(*values, **named)

        return counted

    return decorate


class _Block:
    """One stay in a stage. Made some dozens of times a frame, so it keeps plain numbers."""

    __slots__ = ("_around", "_busy", "_busy_within", "_processor", "_processor_within", "clock", "name")

    def __init__(self, clock: StageClock, name: str) -> None:
        self.clock = clock
        self.name = name

    def __enter__(self) -> None:
        self._around: _Block | None = getattr(_thread, "block", None)
        _thread.block = self
        self._busy_within = self._processor_within = 0.0
        self._busy = time.perf_counter()
        self._processor = time.thread_time()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        processor = time.thread_time() - self._processor
        busy = time.perf_counter() - self._busy
        around = _thread.block = self._around
        self.clock.add(self.name, busy - self._busy_within, processor - self._processor_within)
        if around is not None:
            around._busy_within += busy
            around._processor_within += processor


_thread = threading.local()
"""``block``: the innermost stage that a thread is in."""
