"""Buffers are reused within a thread, never shared between threads, and do not pile up."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np

from facefusion.memory.buffers import MOST_SHAPES, ThreadBuffers


def test_the_same_thread_gets_the_same_array_again() -> None:
    buffers = ThreadBuffers()
    first = buffers.take((3, 4), np.float32)
    assert buffers.take((3, 4), np.float32) is first
    assert first.shape == (3, 4)
    assert first.dtype == np.float32


def test_shape_and_type_tell_buffers_apart() -> None:
    buffers = ThreadBuffers()
    arrays = [buffers.take((3, 4), np.float32), buffers.take((4, 3), np.float32), buffers.take((3, 4), np.uint8)]
    assert len({id(array) for array in arrays}) == 3


def test_threads_never_share() -> None:
    buffers = ThreadBuffers()
    together = threading.Barrier(4)
    seen = []

    def work() -> None:
        array = buffers.take((8,), np.float32)
        together.wait(timeout=10)
        seen.append(array)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(array) for array in seen}) == 4


def test_shapes_not_used_for_longest_are_let_go() -> None:
    buffers = ThreadBuffers()
    first = weakref.ref(buffers.take((1,), np.float32))
    for size in range(2, MOST_SHAPES + 2):
        buffers.take((size,), np.float32)
    gc.collect()
    assert first() is None
