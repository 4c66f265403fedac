"""What NVIDIA's driver says about the memory of a card, at a cost that allows asking while a run is going on.

``nvidia-smi`` (:mod:`facefusion.inference.devices`) takes a good part of a second and tells all there is; the library
that it stands on, NVML, comes with the driver as well and answers in microseconds. Structures and numbers are those of
NVIDIA's NVML API reference.
"""

from __future__ import annotations

import ctypes
import functools
import logging
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

logger = logging.getLogger(__name__)

SUCCESS = 0
NOT_TOLD = (1 << 64) - 1
"""In place of the memory of a process, where the system and not the driver manages it (Windows)."""

MOST_PROCESSES = 256
"""On one card. Where there are more, processes are not told apart."""


@dataclass(frozen=True, slots=True)
class CardMemory:
    """Memory of a card at one moment, in bytes."""

    free: int
    used: int
    """By all processes, and by the driver itself."""
    own: int | None = None
    """By this process; none where the driver does not tell: on Windows, and in most containers."""


MemoryReader = Callable[[str], CardMemory | None]
"""From the UUID of a card to its memory now; none where that cannot be told."""


class Memory(ctypes.Structure):
    """``nvmlMemory_t``."""

    _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


class Process(ctypes.Structure):
    """``nvmlProcessInfo_t``, as the third version of the call that fills it knows it."""

    _fields_ = (
        ("pid", ctypes.c_uint),
        ("used_memory", ctypes.c_ulonglong),
        ("gpu_instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    )


class Nvml:
    """The library, opened. Thread-safe.

    Args:
        library: ``libnvidia-ml`` as ctypes loads it, initialised.
    """

    def __init__(self, library: Any) -> None:  # noqa: ANN401 - a foreign library
        self._library = library
        self._lock = threading.Lock()
        self._handles: dict[str, ctypes.c_void_p] = {}

    def memory(self, uuid: str) -> CardMemory | None:
        """Memory of the card with this UUID; none where the driver does not tell. A :data:`MemoryReader`."""
        with self._lock:
            handle = self._handles.get(uuid)
            if handle is None:
                handle = ctypes.c_void_p()
                if self._library.nvmlDeviceGetHandleByUUID(uuid.encode(), ctypes.byref(handle)) != SUCCESS:
                    return None
                self._handles[uuid] = handle
            memory = Memory()
            if self._library.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory)) != SUCCESS:
                return None
            return CardMemory(int(memory.free), int(memory.used), self._own(handle))

    def _own(self, handle: ctypes.c_void_p) -> int | None:
        count = ctypes.c_uint(MOST_PROCESSES)
        processes = (Process * MOST_PROCESSES)()
        try:
            list_processes = self._library.nvmlDeviceGetComputeRunningProcesses_v3
        except AttributeError:  # an older driver
            return None
        if list_processes(handle, ctypes.byref(count), processes) != SUCCESS:
            return None
        me = os.getpid()
        own = [int(entry.used_memory) for entry in processes[: count.value] if entry.pid == me]
        return None if not own or NOT_TOLD in own else sum(own)


def read_memory(uuid: str) -> CardMemory | None:
    """Memory of a card now; none where there is no driver, or it does not tell. A :data:`MemoryReader`."""
    if not uuid:
        return None
    nvml = _opened()
    return None if nvml is None else nvml.memory(uuid)


@functools.cache
def _opened() -> Nvml | None:
    name = "nvml.dll" if sys.platform == "win32" else "libnvidia-ml.so.1"
    try:
        library = ctypes.CDLL(name)
        status = library.nvmlInit_v2()
    except (OSError, AttributeError) as error:
        logger.debug("the memory of graphics cards cannot be watched: %s", error)
        return None
    if status != SUCCESS:
        logger.debug("the memory of graphics cards cannot be watched: nvmlInit failed with status %d", status)
        return None
    return Nvml(library)
