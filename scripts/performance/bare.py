"""The memory of a process that does nothing but load graphs and run each of them once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from facefusion.inference.providers.cpu import CPU, CpuOptions
from facefusion.inference.session import LoadRequest, ModelFile, OrtSession
from facefusion.memory.meter import MemoryMeter, high_water
from scripts.performance.task import GraphUse

LOOK_SECONDS = 0.02


def bare_peak(graphs: Sequence[GraphUse]) -> int:
    """The most resident memory, in bytes."""
    with MemoryMeter(interval=LOOK_SECONDS) as meter:
        loaded = [OrtSession(LoadRequest(ModelFile(one.path.stem, one.path), ((CPU, CpuOptions()),))) for one in graphs]
        for session, graph in zip(loaded, graphs, strict=True):
            session.run({name: np.zeros(shape, dtype) for name, shape, dtype in graph.fed})
        meter.sample()
    return max(meter.peak, high_water())
