"""A limit on committed memory by a Windows job object."""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Iterator

if sys.platform == "win32":
    from ctypes import wintypes

    _EXTENDED_LIMIT_INFORMATION = 9
    _LIMIT_PROCESS_MEMORY = 0x0100

    class _BasicLimits(ctypes.Structure):
        _fields_ = (
            ("PerProcessUserTimeLimit", ctypes.c_int64),
            ("PerJobUserTimeLimit", ctypes.c_int64),
            ("LimitFlags", wintypes.DWORD),
            ("MinimumWorkingSetSize", ctypes.c_size_t),
            ("MaximumWorkingSetSize", ctypes.c_size_t),
            ("ActiveProcessLimit", wintypes.DWORD),
            ("Affinity", ctypes.c_size_t),
            ("PriorityClass", wintypes.DWORD),
            ("SchedulingClass", wintypes.DWORD),
        )

    class _ExtendedLimits(ctypes.Structure):
        _fields_ = (
            ("BasicLimitInformation", _BasicLimits),
            ("IoInfo", ctypes.c_uint64 * 6),
            ("ProcessMemoryLimit", ctypes.c_size_t),
            ("JobMemoryLimit", ctypes.c_size_t),
            ("PeakProcessMemoryUsed", ctypes.c_size_t),
            ("PeakJobMemoryUsed", ctypes.c_size_t),
        )

    @contextlib.contextmanager
    def committed_memory_limit(ceiling: int) -> Iterator[str | None]:
        """Bound this process's committed memory to ``ceiling`` bytes while the context is open.

        A process cannot leave a job, so at the end the limit is lifted and the job left empty of rules. Jobs nest
        since Windows 8.

        Yields:
            A sentence for the user where the limit could not be set.
        """
        kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        kernel.CreateJobObjectW.restype = wintypes.HANDLE
        kernel.CreateJobObjectW.argtypes = (ctypes.c_void_p, wintypes.LPCWSTR)
        kernel.GetCurrentProcess.restype = wintypes.HANDLE
        kernel.AssignProcessToJobObject.argtypes = (wintypes.HANDLE, wintypes.HANDLE)
        kernel.SetInformationJobObject.argtypes = (wintypes.HANDLE, ctypes.c_int, ctypes.c_void_p, wintypes.DWORD)
        kernel.CloseHandle.argtypes = (wintypes.HANDLE,)
        job = kernel.CreateJobObjectW(None, None)
        if not job:
            yield _refusal()
            return

        def apply(limits: _ExtendedLimits) -> bool:
            size = ctypes.sizeof(limits)
            return bool(kernel.SetInformationJobObject(job, _EXTENDED_LIMIT_INFORMATION, ctypes.byref(limits), size))

        try:
            limits = _ExtendedLimits()
            limits.BasicLimitInformation.LimitFlags = _LIMIT_PROCESS_MEMORY
            limits.ProcessMemoryLimit = ceiling
            if not (apply(limits) and kernel.AssignProcessToJobObject(job, kernel.GetCurrentProcess())):
                yield _refusal()
                return
            try:
                yield None
            finally:
                apply(_ExtendedLimits())
        finally:
            kernel.CloseHandle(job)

    def _refusal() -> str:
        reason = ctypes.FormatError(ctypes.get_last_error()).strip()
        return f"The system's memory limit could not be set ({reason}); the limit is watched."
