"""Counting how often which graph runs, and on inputs of which shape."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from facefusion.core.values import Tensor
from facefusion.inference.session import ModelFile

Fed: TypeAlias = tuple[tuple[str, tuple[int, ...], np.dtype[Any]], ...]
"""Name, shape and type of each input of a run."""


@dataclass(frozen=True, slots=True)
class GraphRuns:
    """All runs of one graph on inputs of one shape."""

    model: ModelFile
    fed: Fed
    count: int
    seconds: float
    """Summed over threads."""


class RunTally:
    """Adds up runs. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: dict[tuple[ModelFile, Fed], tuple[int, float]] = {}
        self._total = 0

    @property
    def total(self) -> int:
        """Runs of all graphs since this was made; it only grows."""
        with self._lock:
            return self._total

    def add(self, model: ModelFile, inputs: Mapping[str, Tensor], seconds: float) -> None:
        """Count one run, and how long it took."""
        key = model, tuple((name, tensor.shape, tensor.dtype) for name, tensor in inputs.items())
        with self._lock:
            count, before = self._runs.get(key, (0, 0.0))
            self._runs[key] = count + 1, before + seconds
            self._total += 1

    def clear(self) -> None:
        """Begin again at nothing."""
        with self._lock:
            self._runs.clear()

    def runs(self) -> tuple[GraphRuns, ...]:
        """What was counted so far, in the order in which it was first seen."""
        with self._lock:
            return tuple(GraphRuns(*key, *sums) for key, sums in self._runs.items())
