"""Measurements, each in a process of its own: what one leaves on a card must not count for the next."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import ParamSpec, TypeVar

import numpy as np

from facefusion.core.values import Tensor
from facefusion.inference.nvml import read_memory
from facefusion.inference.runtime import read_runtime
from facefusion.inference.session import OrtSession
from scripts.gpu_check.graphs import HandedOver, Place, load, noise

P = ParamSpec("P")
T = TypeVar("T")

MEBIBYTE = 1 << 20
PEAK = 1.0
"""Largest value of a picture as graphs give it."""


@dataclass(frozen=True, slots=True)
class Runs:
    """What loading a graph and running it took."""

    start_seconds: float
    """Until the first result, the start of the provider included, and whatever had to be compiled."""
    run_seconds: float
    """Median of the later runs."""
    memory: int | None
    """Bytes on the card that appeared meanwhile; none where no card tells."""
    outputs: dict[str, Tensor]
    """Of the first run."""
    replayed: bool = False
    """Whether what it launches was recorded."""


def apart(function: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
    """Call a function in a fresh process and return what it returns."""
    with multiprocessing.get_context("spawn").Pool(1) as process:
        return process.apply(function, args, options)


def measure_runs(
    place: Place,
    graph: Path,
    *,
    precision: str = "auto",
    replay: bool = False,
    handed_over: bool = False,
    seconds: float = 2.0,
) -> Runs:
    """Load a graph and run it over and over.

    Args:
        place: where.
        graph: its file.
        precision: as ``--inference-precision``.
        replay: as ``--inference-cuda-graphs``.
        handed_over: without buffers that stay on the card.
        seconds: to run on for, after the first run; three runs at least.
    """
    begin = time.perf_counter()
    request = place.request(graph, precision, replay=replay)  # starts the provider
    before = _used(place)
    session = load(request, HandedOver if handed_over else lambda options: options)
    inputs = noise(session.signature, place.side)
    outputs = session.run(inputs)
    start = time.perf_counter() - begin
    session.run(inputs)
    spans: list[float] = []
    while len(spans) < 3 or sum(spans) < seconds:
        begin = time.perf_counter()
        session.run(inputs)
        spans.append(time.perf_counter() - begin)
    after = _used(place)
    memory = None if before is None or after is None else max(0, after - before)
    return Runs(start, median(spans), memory, outputs, session.is_replayed)


def measure_callers(place: Place, graph: Path, counts: tuple[int, ...], seconds: float = 1.5) -> dict[int, float]:
    """Runs per second of a graph with different numbers of threads that call at once."""
    session = load(place.request(graph))
    inputs = noise(session.signature, place.side)
    session.run(inputs)
    return {count: _rate(session, inputs, count, seconds) for count in counts}


def differences(first: dict[str, Tensor], second: dict[str, Tensor]) -> tuple[float, float]:
    """Largest difference and PSNR in dB of the first outputs, which are pictures in 0..1."""
    name = next(iter(first))
    apart_by = np.abs(first[name].astype(np.float64) - second[name])
    square = float(np.mean(apart_by**2))
    return float(apart_by.max()), float("inf") if square == 0 else float(10 * np.log10(PEAK**2 / square))


def _rate(session: OrtSession, inputs: dict[str, Tensor], count: int, seconds: float) -> float:
    end = time.perf_counter() + seconds

    def call(_: int) -> int:
        runs = 0
        while not runs or time.perf_counter() < end:
            session.run(inputs)
            runs += 1
        return runs

    begin = time.perf_counter()
    with ThreadPoolExecutor(count) as threads:
        runs = sum(threads.map(call, range(count)))
    return runs / (time.perf_counter() - begin)


def _used(place: Place) -> int | None:
    """Bytes in use on the card; by all, since containers do not tell processes apart."""
    cards = {gpu.index: gpu for gpu in read_runtime().gpus}
    device = place.plan().devices[0].id
    memory = read_memory(cards[device].uuid) if device in cards else None
    return None if memory is None else memory.used
