"""What a graph costs where nothing else happens: the part of a run's time that no program can take away."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from facefusion.core.values import Tensor
from facefusion.inference.session import LoadRequest, OrtSession, SessionLoader
from facefusion.inference.tally import Fed

SEED = 20260101


def bare_seconds(
    request: LoadRequest,
    fed: Fed,
    cores: int,
    seconds: float,
    *,
    load: SessionLoader = OrtSession,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Seconds per run of a graph on a machine that does nothing else, with the best use of its cores.

    Each way to divide the cores among callers and threads of a run is tried.

    Args:
        request: how to load it; its model's number of threads is replaced.
        fed: what to feed it.
        cores: of the machine, at least 1.
        seconds: to measure each way for; every caller makes one run at least.
        load: makes a session; another function in tests.
        clock: seconds; another one in tests.

    Raises:
        ModelError: the graph cannot be loaded or run.
    """
    inputs = _inputs(fed)
    return min(
        _measured(load(_with_threads(request, threads)).run, inputs, callers, seconds, clock)
        for callers, threads in _divisions(cores)
    )


def _with_threads(request: LoadRequest, threads: int) -> LoadRequest:
    return replace(request, model=replace(request.model, threads=threads))


def _divisions(cores: int) -> Iterator[tuple[int, int]]:
    """Callers and threads of each: all callers, all threads, and the powers of two between."""
    threads = 1
    while threads < cores:
        yield cores // threads, threads
        threads *= 2
    yield 1, cores


def _measured(
    run: Callable[[Mapping[str, Tensor]], object],
    inputs: Mapping[str, Tensor],
    callers: int,
    seconds: float,
    clock: Callable[[], float],
) -> float:
    run(inputs)  # the first one allocates
    ready = threading.Barrier(callers)

    def call() -> tuple[float, float, int]:
        ready.wait()
        count, begin = 0, clock()
        while not count or clock() - begin < seconds:
            run(inputs)
            count += 1
        return begin, clock(), count

    with ThreadPoolExecutor(max_workers=callers) as executor:
        spans = [future.result() for future in [executor.submit(call) for _ in range(callers)]]
    rates = (count / (end - begin) for begin, end, count in spans)
    return 1 / sum(rates)


def _inputs(fed: Fed) -> dict[str, Tensor]:
    """Noise where numbers are wanted: zeros are faster on some processors, and denormals slower on most."""
    random = np.random.default_rng(SEED)
    return {
        name: random.random(shape, np.float32).astype(dtype) if dtype.kind == "f" else np.zeros(shape, dtype)
        for name, shape, dtype in fed
    }
