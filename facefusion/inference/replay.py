"""Recording what a graph launches on an NVIDIA card, and replaying it (CUDA graphs).

A network of a few hundred nodes launches as many kernels, each of which takes the processor some microseconds. A replay
launches them all at once. What ONNX Runtime asks for (its page on the CUDA provider, "Using CUDA Graphs"): inputs and
outputs at the same addresses in each run, shapes that do not change within a recording, no control flow, all nodes on
the provider, and no two threads in the session. A recording belongs to the thread that made it, replays without a look
at the shapes, lives as long as its session, and while it is made no other thread may allocate, copy or load on the
card: both sides would fail. Hence a thread for each session, a number for each shape, few recordings, and
:data:`TRAFFIC`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
import onnxruntime

from facefusion.core.values import Tensor
from facefusion.inference.binding import BoundBuffers, BoundRuns, Shapes, shapes_of
from facefusion.inference.interruption import RunOptions
from facefusion.inference.providers.base import DeviceMemory
from facefusion.inference.runtime import FATAL_ONLY

RECORDINGS = 8
"""Most shapes that are recorded for a session; further ones run without. None can be let go before the session is."""

NUMBER = "gpu_graph_id"
"""Entry of a run's configuration that tells recordings apart; numbers begin with 1."""
NONE = "-1"
"""The number with which nothing is recorded or replayed."""

TOLERANCE = 1e-2
"""Most that a replay may differ from a plain run of the same inputs, over the largest output: kernels of both may add
up in another order, while wrong buffers give anything."""


class ReplayError(Exception):
    """A graph cannot be recorded, or its replay gives something else."""


class Traffic:
    """Who is on a card: any number of runs at once, or one recording alone. A recording that waits goes first."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._shared = 0
        self._alone = False
        self._waiting = 0

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Among others; not to be nested."""
        with self._changed:
            self._changed.wait_for(lambda: not self._alone and not self._waiting)
            self._shared += 1
        try:
            yield
        finally:
            with self._changed:
                self._shared -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Without anybody else."""
        with self._changed:
            self._waiting += 1
            self._changed.wait_for(lambda: not self._alone and not self._shared)
            self._waiting -= 1
            self._alone = True
        try:
            yield
        finally:
            with self._changed:
                self._alone = False
                self._changed.notify_all()


TRAFFIC = Traffic()
"""Of all cards: what is forbidden during a recording is forbidden to the whole process."""


class ReplayedRuns:
    """Runs a session by replaying what its first run of each shape launched. Thread-safe; one run at a time.

    Args:
        session: of ONNX Runtime, made with recordings on.
        memory: where the buffers lie.
        traffic: see :data:`TRAFFIC`.
    """

    def __init__(self, session: Any, memory: DeviceMemory, traffic: Traffic = TRAFFIC) -> None:  # noqa: ANN401 - untyped library
        self._session = session
        self._memory = memory
        self._traffic = traffic
        self._plain: BoundRuns | None = BoundRuns(session, memory, idle=1)
        self._recorded: dict[Shapes, tuple[BoundBuffers, str]] = {}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="replay")
        self._failure = ""

    def run(self, inputs: Mapping[str, Tensor], options: RunOptions | None) -> dict[str, Tensor]:
        """Run once; outputs belong to the caller.

        Raises:
            ReplayError: the graph cannot be recorded; the session is of no use any more.
            Exception: what ONNX Runtime raises.
        """
        return self._thread.submit(self._run, inputs, options).result()

    def _run(self, inputs: Mapping[str, Tensor], options: RunOptions | None) -> dict[str, Tensor]:
        if self._plain is None:
            raise ReplayError(self._failure)
        shapes = shapes_of(inputs)
        known = self._recorded.get(shapes)
        if known is not None:
            buffers, number = known
            with self._traffic.shared():
                return buffers.run(inputs, _numbered(options, number))
        with self._traffic.shared():
            expected = self._plain.run(inputs, _numbered(options, NONE))
        if len(self._recorded) < RECORDINGS:
            try:
                self._record(shapes, inputs, expected)
            except ReplayError as error:
                self._failure = str(error)
                self._release()
                raise
        return expected

    def _record(self, shapes: Shapes, inputs: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
        number = str(len(self._recorded) + 1)
        with self._traffic.alone():
            try:
                buffers = BoundBuffers(self._session, self._memory, shapes)
                buffers.run(inputs, _numbered(None, NONE))  # shows where outputs go
                buffers.run(inputs, _numbered(None, number))
                replayed = buffers.run(inputs, _numbered(None, number))
            except Exception as error:
                raise ReplayError(str(error)) from error
        for name, output in expected.items():
            if not _is_near(replayed[name], output):
                raise ReplayError(f"a replay gives other numbers for {name}")
        self._recorded[shapes] = buffers, number

    def _release(self) -> None:
        """Let go of the session: another one is made, for which there may be no room beside it."""
        self._recorded.clear()
        self._plain = self._session = None


def _is_near(replayed: Tensor, expected: Tensor) -> bool:
    finite = np.isfinite(expected)  # a first run on zeros may well divide by them
    if not np.array_equal(finite, np.isfinite(replayed)):
        return False
    numbers, others = (values[finite].astype(np.float64) for values in (expected, replayed))
    size = float(np.abs(numbers).max(initial=0)) or 1.0
    return bool(np.abs(others - numbers).max(initial=0) <= TOLERANCE * size)


def _numbered(options: RunOptions | None, number: str) -> Any:  # noqa: ANN401 - untyped library
    chosen: Any = options
    if chosen is None:
        chosen = onnxruntime.RunOptions()
        chosen.log_severity_level = FATAL_ONLY
    chosen.add_run_config_entry(NUMBER, number)
    return chosen
