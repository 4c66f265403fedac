"""Toy graphs run by the real engine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

import onnx

from facefusion.core.graph import GraphSignature
from facefusion.core.stop import StopToken
from facefusion.core.values import Tensor
from facefusion.inference.interruption import Interruption
from facefusion.inference.pool import InferencePool
from facefusion.inference.runner import PooledGraph
from facefusion.inference.session import ModelFile, OrtSession
from tests.inference.fakes import Heard, execution


class CountedGraph:
    """A graph that remembers the shapes of what it was given."""

    def __init__(self, graph: PooledGraph) -> None:
        self._graph = graph
        self.runs: list[dict[str, tuple[int, ...]]] = []

    @property
    def signature(self) -> GraphSignature:
        return self._graph.signature

    def run(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        self.runs.append({name: tensor.shape for name, tensor in inputs.items()})
        return self._graph.run(inputs)

    def last_initializer(self) -> Tensor:
        return self._graph.last_initializer()


class Spy:
    """A graph that remembers the last tensors it was given."""

    def __init__(self, graph: CountedGraph) -> None:
        self._graph = graph
        self.signature = graph.signature
        self.given: dict[str, Tensor] = {}

    def run(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        self.given = {name: tensor.copy() for name, tensor in inputs.items()}
        return self._graph.run(inputs)


class Toys:
    """Writes toy graphs into a folder and runs them on the processor."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pool = InferencePool(execution(), events=Heard(), load=OrtSession)
        self._count = 0

    def __enter__(self) -> Toys:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._pool.close()

    def run(self, model: onnx.ModelProto) -> CountedGraph:
        """What runs a graph."""
        self._count += 1
        path = self._folder / f"toy_{self._count}.onnx"
        onnx.save(model, path)
        return CountedGraph(PooledGraph(self._pool, ModelFile(path.stem, path), Interruption(StopToken())))
