from __future__ import annotations

import ctypes
import os

import pytest

from facefusion.inference.nvml import NOT_TOLD, CardMemory, Memory, Nvml, Process, read_memory

NOT_FOUND = 6
INSUFFICIENT_SIZE = 7

BY_UUID = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p))
MEMORY = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(Memory))
PROCESSES = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint), ctypes.POINTER(Process))


class FakeLibrary:
    """The calls of ``libnvidia-ml``, reached through pointers as those of the real one are."""

    def __init__(self, *, free=3 << 30, used=5 << 30, processes=(), status=0, asked_processes=0, is_old=False):
        self.looked_up = 0

        @BY_UUID
        def by_uuid(uuid, handle):
            self.looked_up += 1
            if uuid != b"GPU-1":
                return NOT_FOUND
            handle[0] = 0x7F0000001234
            return 0

        @MEMORY
        def memory(handle, told):
            assert handle == 0x7F0000001234
            told[0].total, told[0].free, told[0].used = free + used, free, used
            return status

        @PROCESSES
        def running(handle, count, told):
            assert handle == 0x7F0000001234
            if asked_processes:
                return asked_processes
            for place, (pid, taken) in enumerate(processes):
                told[place].pid, told[place].used_memory = pid, taken
            count[0] = len(processes)
            return 0

        self.nvmlDeviceGetHandleByUUID = by_uuid
        self.nvmlDeviceGetMemoryInfo = memory
        if not is_old:
            self.nvmlDeviceGetComputeRunningProcesses_v3 = running


def test_structures_are_laid_out_as_in_the_drivers_header():
    assert (ctypes.sizeof(Memory), ctypes.sizeof(Process)) == (24, 24)
    assert (Process.used_memory.offset, Process.gpu_instance.offset) == (8, 16)


def test_the_memory_of_a_card_and_of_this_process_is_read():
    library = FakeLibrary(processes=[(1, 2 << 30), (os.getpid(), 1 << 30), (os.getpid(), 5)])
    nvml = Nvml(library)
    assert nvml.memory("GPU-1") == CardMemory(free=3 << 30, used=5 << 30, own=(1 << 30) + 5)
    assert nvml.memory("GPU-1") is not None
    assert library.looked_up == 1


@pytest.mark.parametrize(
    "library",
    [
        FakeLibrary(),
        FakeLibrary(processes=[(1, 2 << 30)]),
        FakeLibrary(processes=[(os.getpid(), NOT_TOLD)]),
        FakeLibrary(asked_processes=INSUFFICIENT_SIZE),
        FakeLibrary(is_old=True),
    ],
)
def test_where_processes_are_not_told_apart_only_the_card_is_known(library):
    assert Nvml(library).memory("GPU-1") == CardMemory(free=3 << 30, used=5 << 30, own=None)


def test_a_card_that_is_not_known_or_does_not_tell_has_no_memory():
    assert Nvml(FakeLibrary()).memory("GPU-2") is None
    assert Nvml(FakeLibrary(status=NOT_FOUND)).memory("GPU-1") is None
    assert read_memory("") is None
    assert read_memory("GPU-of-nobody") is None
