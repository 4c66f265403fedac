"""A toy graph that keeps what it was given."""

from __future__ import annotations

from collections.abc import Mapping

from facefusion.core.graph import GraphSignature
from facefusion.core.values import Tensor
from tests.toys.pooled import CountedGraph


class Heard:
    """A graph that keeps what it was given."""

    def __init__(self, graph: CountedGraph) -> None:
        self._graph = graph
        self.inputs: list[dict[str, Tensor]] = []

    @property
    def signature(self) -> GraphSignature:
        return self._graph.signature

    def run(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        self.inputs.append({name: tensor.copy() for name, tensor in inputs.items()})
        return self._graph.run(inputs)

    def last_initializer(self) -> Tensor:
        return self._graph.last_initializer()
