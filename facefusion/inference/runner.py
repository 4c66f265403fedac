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

MOST_TRIES = 4
"""Of one run: two threads that take room from each other by turns must come to an end."""


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
        with self._pool.lease(self._model, self._interruption.check) as lease:
            return lease.session.signature

    def run(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Run the graph once and return its outputs by name.

        Where the device has no memory left, room is made as far as there is some to make, and the run is tried again.

        Raises:
            ModelError: the graph cannot be loaded, or rejects the inputs.
            ProviderError: no provider asked for can run it.
            DeviceMemoryError: the device has no memory left.
            Stopped: a stop was requested.
        """
        with self._interruption.run() as options:
            for tries_left in range(MOST_TRIES - 1, -1, -1):
                with self._pool.lease(self._model, self._interruption.check) as lease:
                    self._check(inputs, lease.session.signature.inputs)
                    begin = time.perf_counter()
                    try:
                        outputs = lease.run(inputs, options)
                    except DeviceMemoryError:
                        if not tries_left or not self._pool.make_room(lease.place):
                            raise
                    else:
                        self._pool.tally.add(self._model, inputs, time.perf_counter() - begin)
                        return outputs
            raise AssertionError("the last try returns or raises")

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
