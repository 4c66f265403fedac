"""What model families get to run their graph."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cached_property

from facefusion.core.errors import ModelError
from facefusion.core.graph import WRONG_FILE, GraphSignature, GraphValue
from facefusion.core.values import Tensor
from facefusion.inference.interruption import Interruption
from facefusion.inference.pool import InferencePool
from facefusion.inference.session import DeviceMemoryError, ModelFile


class PooledGraph:
    """Runs one model through the pool: each run takes a lease and passes the device's gate. Thread-safe.

    A :class:`facefusion.core.graph.SignedGraph`.

    Args:
        pool: holds the session.
        model: whose graph is run.
        interruption: ends a run, and keeps another one from beginning, once a stop is asked for.
    """

    def __init__(self, pool: InferencePool, model: ModelFile, interruption: Interruption) -> None:
        self._pool = pool
        self._model = model
        self._interruption = interruption

    @cached_property
    def signature(self) -> GraphSignature:
        """What the graph takes and gives; loads it where it is not loaded, and is known from then on.

        Raises:
            ModelError: the graph cannot be loaded.
            ProviderError: no provider asked for can run it.
        """
        with self._pool.lease(self._model) as lease:
            return lease.session.signature

    def run(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Run the graph once and return its outputs by name.

        Where the device has no memory left, all sessions that nothing uses are released and the run is tried again.

        Raises:
            ModelError: the graph cannot be loaded, or rejects the inputs.
            ProviderError: no provider asked for can run it.
            DeviceMemoryError: the device has no memory left.
            Stopped: a stop was requested.
        """
        with self._interruption.run() as options, self._pool.lease(self._model) as lease:
            self._check(inputs, lease.session.signature.inputs)
            begin = time.perf_counter()
            try:
                outputs = lease.run(inputs, options)
            except DeviceMemoryError:
                if not self._pool.release_unused():
                    raise
                outputs = lease.run(inputs, options)
            self._pool.tally.add(self._model, inputs, time.perf_counter() - begin)
            return outputs

    def last_initializer(self) -> Tensor:
        """See :meth:`facefusion.core.graph.SignedGraph.last_initializer`."""
        from facefusion.inference.initializer import last_initializer  # noqa: PLC0415 - few need onnx for it

        return last_initializer(self._model.path)

    def _check(self, given: Mapping[str, Tensor], wanted: Mapping[str, GraphValue]) -> None:
        if given.keys() != wanted.keys():
            raise ModelError(
                f"{self._model.name}: the graph takes the inputs {', '.join(sorted(wanted))} and was given "
                f"{', '.join(sorted(given)) or 'none'}",
                WRONG_FILE,
            )
