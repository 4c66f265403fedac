"""Measure what one more run of a graph at the same time takes: the number ``worker_megabytes`` of a catalogue entry.

    python scripts/measure_worker_memory.py FILE... [--shape input=1x3x640x640] [--runs 4]

Each file is loaded in a process of its own, with one processor thread for each run, as a step does. Printed is the peak
of resident memory of so many runs at once, less that of the loaded graph, divided by the runs and rounded up to ten.
Sizes that a graph leaves open are taken from ``--shape``, else 1. Inputs are noise: what a graph takes does not depend
on them.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import psutil

from facefusion.core.graph import GraphSignature, Shape
from facefusion.core.values import Tensor
from facefusion.inference.providers.cpu import CPU, CpuOptions
from facefusion.inference.session import LoadRequest, ModelFile, OrtSession

MEGABYTE = 1 << 20
STEP = 10
ROUNDS = 3
"""Runs of each thread: the allocator has settled after the second."""
LOOK_SECONDS = 0.002


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the files that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--shape", action="append", default=[], help="NAME=1x3x640x640, of an open input")
    parser.add_argument("--runs", type=int, default=4, help="runs at once")
    asked = parser.parse_args(arguments)
    shapes = {name: tuple(map(int, sizes.split("x"))) for name, sizes in (one.split("=") for one in asked.shape)}
    context = multiprocessing.get_context("spawn")
    for file in asked.files:
        with context.Pool(1) as process:
            taken = process.apply(measure, (file, shapes, asked.runs))
        print(f"{file.name:32} {taken:5} MB for each run, {file.stat().st_size // MEGABYTE} MB on disk", flush=True)


def measure(file: Path, shapes: Mapping[str, Shape], runs: int) -> int:
    """Megabytes that each of several runs at once takes."""
    session = OrtSession(LoadRequest(ModelFile(file.stem, file), ((CPU, CpuOptions()),)))
    inputs = _noise(session.signature, shapes)
    process = psutil.Process()
    loaded = process.memory_info().rss
    with _Peak(process) as peak, ThreadPoolExecutor(runs) as threads:
        for _ in threads.map(lambda _: [session.run(inputs) for _ in range(ROUNDS)], range(runs)):
            pass
    return math.ceil((peak.bytes - loaded) / runs / MEGABYTE / STEP) * STEP


def _noise(signature: GraphSignature, shapes: Mapping[str, Shape]) -> dict[str, Tensor]:
    generator = np.random.default_rng(0)
    noise: dict[str, Tensor] = {}
    for name, value in signature.inputs.items():
        sizes = [size or 1 for size in shapes.get(name, value.shape)]
        noise[name] = np.asarray(generator.random(sizes)).astype(value.dtype)
    return noise


class _Peak:
    """Watches the resident memory of a process."""

    def __init__(self, process: psutil.Process) -> None:
        self.bytes = 0
        self._process = process
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> _Peak:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.is_set():
            self.bytes = max(self.bytes, self._process.memory_info().rss)
            time.sleep(LOOK_SECONDS)


if __name__ == "__main__":
    main()
