"""What a graph costs where nothing else happens: the part of a run's time that no program can take away."""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from facefusion.core.values import Tensor
from facefusion.inference.session import LoadRequest, OrtSession, SessionLoader
from facefusion.inference.tally import Fed

SEED = 20260101


@dataclass(frozen=True, slots=True)
class Division:
    """One way to divide cores: so many runs of a graph at once, each on so many threads."""

    callers: int
    threads: int

    def __str__(self) -> str:
        return f"{self.callers} x {self.threads}"


@dataclass(frozen=True, slots=True)
class Timing:
    """What was measured of one way."""

    seconds: float
    """Per run."""
    share: float = 1.0
    """Of the threads' time that the processor gave them; well below 1 where other programs worked."""


def divisions(cores: int) -> Iterator[Division]:
    """One thread for each run, a single run on all cores, and the powers of two between."""
    threads = 1
    while threads < cores:
        yield Division(cores // threads, threads)
        threads *= 2
    yield Division(1, cores)


def measure_divisions(
    request: LoadRequest,
    fed: Fed,
    cores: int,
    seconds: float,
    *,
    load: SessionLoader = OrtSession,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[Division, Timing]:
    """What a graph takes on a machine that does nothing else, for each way to divide its cores.

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
    return {
        division: measure_division(request, fed, division, seconds, load=load, clock=clock)
        for division in divisions(cores)
    }


def measure_division(
    request: LoadRequest,
    fed: Fed,
    division: Division,
    seconds: float,
    *,
    load: SessionLoader = OrtSession,
    clock: Callable[[], float] = time.perf_counter,
) -> Timing:
    """What a graph takes with one way to divide the cores; see :func:`measure_divisions`."""
    session = load(with_threads(request, division.threads))
    return _measured(session.run, noise(fed), division, seconds, clock)


@dataclass(frozen=True, slots=True)
class Share:
    """The part that one graph has in a run."""

    request: LoadRequest
    fed: Fed
    count: int
    """Of its runs."""


def measure_in_turn(
    shares: Sequence[Share],
    division: Division,
    seconds: float,
    *,
    load: SessionLoader = OrtSession,
    clock: Callable[[], float] = time.perf_counter,
) -> list[float]:
    """What all runs of some graphs take where they follow each other as frames ask for them.

    A graph that is run over and over finds its weights in the caches, which no video does: measured with networks that
    cost next to nothing, in turn they take 4 to 8 % more.

    Args:
        shares: of the graphs.
        division: of the cores.
        seconds: to measure for; every caller makes one run of each graph at least.
        load: makes a session; another function in tests.
        clock: seconds; another one in tests.

    Returns:
        Seconds of all runs of each graph, with every caller at work.

    Raises:
        ModelError: a graph cannot be loaded or run.
    """
    graphs = [(load(with_threads(share.request, division.threads)).run, noise(share.fed)) for share in shares]
    for run, inputs in graphs:
        run(inputs)  # the first one allocates
    ready = threading.Barrier(division.callers)

    def call() -> list[tuple[float, int]]:
        sums = [(0.0, 0)] * len(graphs)
        due = [(0.5 / share.count, number) for number, share in enumerate(shares)]
        heapq.heapify(due)
        ready.wait()
        begin = now = clock()
        while now - begin < seconds or not all(count for _, count in sums):
            when, number = due[0]
            heapq.heapreplace(due, (when + 1 / shares[number].count, number))
            run, inputs = graphs[number]
            if now - begin >= seconds and sums[number][1]:
                continue  # its time is over, but not all were run yet
            run(inputs)
            now, before = clock(), now
            sums[number] = sums[number][0] + now - before, sums[number][1] + 1
        return sums

    with ThreadPoolExecutor(max_workers=division.callers) as executor:
        found = [future.result() for future in [executor.submit(call) for _ in range(division.callers)]]
    rates = [sum(sums[number][1] / sums[number][0] for sums in found) for number in range(len(shares))]
    return [share.count / rate for share, rate in zip(shares, rates, strict=True)]


def with_threads(request: LoadRequest, threads: int) -> LoadRequest:
    """The same request for a session whose runs take so many threads."""
    return replace(request, model=replace(request.model, threads=threads))


def _measured(
    run: Callable[[Mapping[str, Tensor]], object],
    inputs: Mapping[str, Tensor],
    division: Division,
    seconds: float,
    clock: Callable[[], float],
) -> Timing:
    run(inputs)  # the first one allocates
    ready = threading.Barrier(division.callers)

    def call() -> tuple[float, float, int]:
        ready.wait()
        count, begin = 0, clock()
        while not count or clock() - begin < seconds:
            run(inputs)
            count += 1
        return begin, clock(), count

    with ThreadPoolExecutor(max_workers=division.callers) as executor:
        used = time.process_time()
        spans = [future.result() for future in [executor.submit(call) for _ in range(division.callers)]]
        used = time.process_time() - used
    rate = sum(count / (end - begin) for begin, end, count in spans)
    return Timing(1 / rate, used / (division.threads * sum(end - begin for begin, end, _ in spans)))


def noise(fed: Fed) -> dict[str, Tensor]:
    """Noise where numbers are wanted: zeros are faster on some processors, and denormals slower on most."""
    random = np.random.default_rng(SEED)
    return {
        name: random.random(shape, np.float32).astype(dtype) if dtype.kind == "f" else np.zeros(shape, dtype)
        for name, shape, dtype in fed
    }
