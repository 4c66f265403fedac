"""A graph that leaves the shapes of its outputs open and gives the same each time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from facefusion.core.graph import GraphSignature, GraphValue
from facefusion.core.values import Tensor


class VagueGraph:
    """Takes what it is said to take.

    Args:
        inputs: shape of each, by name.
        answers: what it gives, whatever it is given.
    """

    def __init__(self, inputs: Mapping[str, Sequence[int]], answers: Sequence[Tensor]) -> None:
        number = np.dtype(np.float32)
        self._answers = {f"output_{place}": answer for place, answer in enumerate(answers)}
        self.signature = GraphSignature(
            {name: GraphValue(tuple(shape), number) for name, shape in inputs.items()},
            {name: GraphValue((), number) for name in self._answers},
        )

    def run(self, inputs):
        return self._answers

    def last_initializer(self):
        raise AssertionError("not asked for")
