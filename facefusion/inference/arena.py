"""One store of scratch memory for all graphs that run on the processor.

A session left to itself keeps a store for what passes between its nodes, as large as its largest run. A worker runs one
graph after the other, so most of these stores lie idle at any time. Measured with two workers and a third thread that
detects faces: 63 MB in one store against 122 MB in one for each with small networks, and 168 against 410 MB with
networks of real size, in the same processor time. Runs take their pieces one by one: a run that takes all it needs in
one block, as ONNX Runtime does where shapes are known, finds none that fits in a store for all (290 MB).
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import onnxruntime

LARGEST_STEP = 8 << 20
"""Bytes. The store grows in steps that double; left to itself up to 1 GB, and a step too many was 64 MB for nobody."""

UNUSED_BYTES = 256 << 10
"""Most that may be left over of the piece that a tensor gets; 128 MB where ONNX Runtime is left to itself."""

SHARED = {
    "session.use_env_allocators": "1",
    # Weights lie outside: they go when their session does, while the store keeps what it has.
    "session.use_device_allocator_for_initializers": "1",
}
"""Entries of a session's configuration with which it uses the shared store."""

SHRINK = ("memory.enable_memory_arena_shrinkage", "cpu:0")
"""Entry of a run's configuration with which the store afterwards lets go of what nothing uses."""

SMALLEST_GRAPH = (
    b"\x08\x08:7\n\x10\n\x01x\x12\x01y\x22\x08Identity\x12\x01i"
    b"Z\x0f\n\x01x\x12\n\n\x08\x08\x01\x12\x04\n\x02\x08\x01b\x0f\n\x01y\x12\n\n\x08\x08\x01\x12\x04\n\x02\x08\x01B\x04\n\x00\x10\r"
)
"""An ONNX file: y = Identity(x) of one float, operators of version 13. A store shrinks only at the end of some run."""


@functools.cache
def open_store() -> None:
    """Make the store, once per process. Sessions made before do without; a second call at once does no harm."""
    kind = onnxruntime.OrtMemoryInfo(
        "Cpu", onnxruntime.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, onnxruntime.OrtMemType.DEFAULT
    )
    growth = {"max_power_of_two_extend_bytes": LARGEST_STEP, "max_dead_bytes_per_chunk": UNUSED_BYTES}
    onnxruntime.create_and_register_allocator(kind, onnxruntime.OrtArenaCfg(growth))


def shrink_store() -> None:
    """Let go of what no run uses; for when sessions were released. Does nothing where no session used the store."""
    if not open_store.cache_info().currsize:
        return
    options = onnxruntime.RunOptions()
    options.add_run_config_entry(*SHRINK)
    _shrinking_session().run(None, {"x": np.zeros(1, np.float32)}, options)


@functools.cache
def _shrinking_session() -> Any:  # noqa: ANN401 - ONNX Runtime is not typed
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    for name, value in SHARED.items():
        options.add_session_config_entry(name, value)
    return onnxruntime.InferenceSession(SMALLEST_GRAPH, options, providers=["CPUExecutionProvider"])
