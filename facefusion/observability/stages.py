"""Counting the seconds that each stage of the work is busy."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import wraps
from types import TracebackType
from typing import NamedTuple, ParamSpec, TypeVar

Given = ParamSpec("Given")
ResultT = TypeVar("ResultT")


class StageSeconds(NamedTuple):
    """What a stage took, summed over threads; stages within it have their own."""

    busy: float
    """From begin to end, waiting included."""
    processor: float
    """Of the processor, as far as the stage's own thread used it."""


NO_TIME = StageSeconds(0.0, 0.0)


class StageClock:
    """Adds up seconds per stage over all threads. Thread-safe.

    A stage that begins within another one on the same thread is taken out of it, so that all stages add up to the time
    of the outermost.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sums: defaultdict[str, StageSeconds] = defaultdict(lambda: NO_TIME)

    def measure(self, stage: str) -> AbstractContextManager[None]:
        """Count the time inside the block towards ``stage``."""
        return _Block(self, stage)

    def seconds(self) -> dict[str, float]:
        """Busy seconds per stage so far, in the order in which the stages first ended."""
        with self._lock:
            return {stage: sums.busy for stage, sums in self._sums.items()}

    def processor_seconds(self) -> dict[str, float]:
        """The same of processor time."""
        with self._lock:
            return {stage: sums.processor for stage, sums in self._sums.items()}

    def add(self, stage: str, passed: StageSeconds) -> None:
        """Count what was measured elsewhere."""
        with self._lock:
            busy, processor = self._sums[stage]
            self._sums[stage] = StageSeconds(busy + passed.busy, processor + passed.processor)


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


@dataclass(slots=True, eq=False)
class _Block:
    """One stay in a stage."""

    clock: StageClock
    name: str
    around: _Block | None = None
    begun: StageSeconds = NO_TIME
    within: StageSeconds = NO_TIME
    """Of the stages inside this one."""

    def __enter__(self) -> None:
        self.around = getattr(_thread, "block", None)
        _thread.block = self
        self.begun = StageSeconds(time.perf_counter(), time.thread_time())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        passed = StageSeconds(time.perf_counter() - self.begun.busy, time.thread_time() - self.begun.processor)
        _thread.block = self.around
        own = StageSeconds(passed.busy - self.within.busy, passed.processor - self.within.processor)
        self.clock.add(self.name, own)
        if self.around is not None:
            before = self.around.within
            self.around.within = StageSeconds(before.busy + passed.busy, before.processor + passed.processor)


_thread = threading.local()
"""``block``: the innermost stage that a thread is in."""
