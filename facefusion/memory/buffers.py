"""Arrays that a thread uses again and again, so that the hot path does not allocate."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TypeVar

import numpy as np
import numpy.typing as npt

ScalarT = TypeVar("ScalarT", bound=np.generic)

MOST_SHAPES = 4
"""Buffers kept per thread and owner; the one not used for longest goes first."""


class ThreadBuffers:
    """Scratch arrays of one owner, one set per thread.

    What :meth:`take` returns is the caller's until the same thread takes the same shape again, so it must not be
    handed to another thread or kept.
    """

    def __init__(self) -> None:
        self._local = threading.local()

    def take(self, shape: tuple[int, ...], dtype: type[ScalarT]) -> npt.NDArray[ScalarT]:
        """An array of that shape and type; its content is whatever was left there."""
        kept: OrderedDict[tuple[object, ...], npt.NDArray[ScalarT]]
        kept = self._local.__dict__.setdefault("arrays", OrderedDict())
        key = (shape, dtype)
        buffer = kept.pop(key, None)
        if buffer is None:
            buffer = np.empty(shape, dtype)
        kept[key] = buffer
        if len(kept) > MOST_SHAPES:
            kept.popitem(last=False)
        return buffer
