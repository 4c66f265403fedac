"""What a model family sees of the inference engine: something that runs one graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from facefusion.core.values import Tensor


@dataclass(frozen=True, slots=True)
class GraphValue:
    """One input or output of a graph."""

    shape: tuple[int | None, ...]
    """None where the graph leaves the dimension open."""
    dtype: np.dtype[Any]


@dataclass(frozen=True, slots=True)
class GraphSignature:
    """What a graph takes and gives, by name, in its own order."""

    inputs: Mapping[str, GraphValue]
    outputs: Mapping[str, GraphValue]


class GraphRunner(Protocol):
    """Runs one graph. Thread-safe: each call takes a lease on the session and passes the device's gate.

    Families get one from the caller and never see ONNX Runtime; tests hand in a function of their own.
    """

    def run(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Run the graph once and return its outputs by name.

        Raises:
            ModelError: the graph cannot be loaded, or rejects the inputs.
        """


class SignedGraph(GraphRunner, Protocol):
    """A graph that can be asked what it takes and gives; loads it where it is not loaded."""

    @property
    def signature(self) -> GraphSignature:
        """See there.

        Raises:
            ModelError: the graph cannot be loaded.
        """
