"""Runs on buffers that stay on a device.

Left to itself a run makes device memory for each input and output, and lets go of it at its end. Here they are made
once for each caller at a time and each set of shapes. Inputs are copied into them, the graph runs in place, and outputs
are copied back once.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import onnxruntime

from facefusion.core.values import Tensor
from facefusion.inference.interruption import RunOptions
from facefusion.inference.providers.base import DeviceMemory

Shapes: TypeAlias = tuple[tuple[str, tuple[int, ...], str], ...]
"""Name, shape and type of each input of a run."""

IDLE_SETS = 8
"""Most sets of buffers that lie idle for a session: as many as a gate lets through at most."""
IDLE_BYTES = 128 << 20
"""Most that they take, but for the one used last."""

_OTHER_SHAPE = re.compile(r"computed output shape|shape verification failed|mismatch attempting to re-use buffer")
"""Its versions where an output does not fit the buffer that is bound for it."""


def shapes_of(inputs: Mapping[str, Tensor]) -> Shapes:
    """What buffers are made for."""
    return tuple((name, tensor.shape, tensor.dtype.str) for name, tensor in inputs.items())


class BoundBuffers:
    """Inputs and outputs of one shape for one caller at a time.

    The first run shows the shapes of the outputs; what ONNX Runtime makes for them then is kept, and written to from
    then on. Outputs whose shape depends on the numbers (lists of finds, say) are made anew by each run.

    Args:
        session: of ONNX Runtime.
        memory: where the buffers lie.
        shapes: of the inputs.
    """

    # In the order in which they are let go: memory first, then the session that it may come from.
    __slots__ = ("_binding", "_fixed", "_inputs", "_memory", "_outputs", "_session", "bytes")

    def __init__(self, session: Any, memory: DeviceMemory, shapes: Shapes) -> None:  # noqa: ANN401 - untyped library
        self._session = session
        self._memory = memory
        self._outputs = tuple(entry.name for entry in session.get_outputs())
        self._binding = session.io_binding()
        self._inputs: dict[str, Any] = {}
        for name, shape, kind in shapes:
            place = onnxruntime.OrtValue.ortvalue_from_shape_and_type(
                list(shape), np.dtype(kind).type, memory.kind, memory.device_id
            )
            self._binding.bind_ortvalue_input(name, place)
            self._inputs[name] = place
        self.bytes = 0
        """What inputs and outputs of the last run take."""
        self._fixed: bool | None = None
        """Whether outputs are written to the same place each time; none before the first run."""

    def run(self, inputs: Mapping[str, Tensor], options: RunOptions | None) -> dict[str, Tensor]:
        """Run once on inputs of the shapes that the buffers are made for; outputs belong to the caller.

        Raises:
            Exception: what ONNX Runtime raises; the buffers should not be used again.
        """
        for name, tensor in inputs.items():
            # Every way to copy wants rows one after the other, and older versions do not see to it themselves.
            self._inputs[name].update_inplace(np.ascontiguousarray(tensor))
        self._compute(options)
        results = dict(zip(self._outputs, self._binding.copy_outputs_to_cpu(), strict=True))
        self.bytes = sum(tensor.nbytes for tensor in (*inputs.values(), *results.values()))
        return results

    def _compute(self, options: RunOptions | None) -> None:
        if not self._fixed:
            self._leave_outputs_open()  # else what the last run made would be bound
        try:
            self._session.run_with_iobinding(self._binding, options)
        except Exception as error:
            if not self._fixed or _OTHER_SHAPE.search(str(error)) is None:
                raise
            self._fixed = False
            self._leave_outputs_open()
            self._session.run_with_iobinding(self._binding, options)
        if self._fixed is None:
            self._keep_outputs()

    def _leave_outputs_open(self) -> None:
        for name in self._outputs:
            self._binding.bind_output(name, self._memory.kind, self._memory.device_id)

    def _keep_outputs(self) -> None:
        for name, place in zip(self._outputs, self._binding.get_outputs(), strict=True):
            self._binding.bind_ortvalue_output(name, place)
        self._fixed = True


class BoundRuns:
    """Runs a session on buffers that are kept for later runs. Thread-safe.

    There are as many sets of buffers in use as callers run at once, which the device's gate bounds, and a bounded
    number that wait to be used again.

    Args:
        session: of ONNX Runtime.
        memory: where the buffers lie.
        idle: most sets that wait; those that were used last are kept.
        idle_bytes: most that they take, but for the last.
    """

    def __init__(
        self,
        session: Any,  # noqa: ANN401 - untyped library
        memory: DeviceMemory,
        idle: int = IDLE_SETS,
        idle_bytes: int = IDLE_BYTES,
    ) -> None:
        self._session = session
        self._memory = memory
        self._most = idle
        self._most_bytes = idle_bytes
        self._lock = threading.Lock()
        self._idle: list[tuple[Shapes, BoundBuffers]] = []
        """Those used last at the end."""

    def run(self, inputs: Mapping[str, Tensor], options: RunOptions | None) -> dict[str, Tensor]:
        """Run once; outputs belong to the caller.

        Raises:
            Exception: what ONNX Runtime raises.
        """
        shapes = shapes_of(inputs)
        try:
            buffers = self._take(shapes) or BoundBuffers(self._session, self._memory, shapes)
            results = buffers.run(inputs, options)
        except BaseException:
            # Nobody knows what it left behind; and it may have lacked the memory that others lie idle on.
            self._let_go()
            raise
        self._give_back(shapes, buffers)
        return results

    def _take(self, shapes: Shapes) -> BoundBuffers | None:
        with self._lock:
            for place in reversed(range(len(self._idle))):
                if self._idle[place][0] == shapes:
                    return self._idle.pop(place)[1]
        return None

    def _give_back(self, shapes: Shapes, buffers: BoundBuffers) -> None:
        with self._lock:
            self._idle.append((shapes, buffers))
            kept = 1
            taken = buffers.bytes
            for _, waiting in reversed(self._idle[:-1]):
                taken += waiting.bytes
                if kept == self._most or taken > self._most_bytes:
                    break
                kept += 1
            # What is let go is freed outside the lock.
            surplus, self._idle = self._idle[:-kept], self._idle[-kept:]
        del surplus

    def _let_go(self) -> None:
        with self._lock:
            surplus, self._idle = self._idle, []
        del surplus
