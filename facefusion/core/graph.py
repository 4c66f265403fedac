"""What a model family sees of the inference engine: something that runs one graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from facefusion.core.values import Tensor


class GraphRunner(Protocol):
    """Runs one graph. Thread-safe: each call takes a lease on the session and passes the device's gate.

    Families get one from the caller and never see ONNX Runtime; tests hand in a function of their own.
    """

    def run(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Run the graph once and return its outputs by name.

        Raises:
            ModelError: the graph cannot be loaded, or rejects the inputs.
        """
