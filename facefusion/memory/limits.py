"""The operating system's own limit on memory: the last line of defence behind budget and meter.

What each system offers:

* Linux: ``RLIMIT_DATA``, which since kernel 4.7 counts private writable pages, so it sees what ``malloc`` and NumPy
  take. Not ``RLIMIT_AS``: that counts address space, of which the CUDA driver reserves as much as RAM and video
  memory together, and FFmpeg, thread stacks and mapped models reserve far more than they use.
  With a GPU provider no limit is set, since a driver that is refused a page may take the process down.
* Windows: a job object with a limit on the process's committed memory.
* macOS: nothing that the kernel enforces; the meter alone watches.

A limit set here counts pages that are reserved but not touched (8 MiB of stack per thread, allocator arenas), so it
lies above the user's limit by :data:`SLACK` and :data:`SLACK_BYTES`: a run within its limit never meets it, and a run
that bolts is stopped by a ``MemoryError`` instead of by the kernel killing something else.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

import psutil

SLACK = 1.25
SLACK_BYTES = 1 << 30


@contextlib.contextmanager
def hard_limit(limit: int, *, uses_gpu: bool) -> Iterator[str | None]:
    """Bound this process's memory while the context is open.

    Args:
        limit: bytes the run may take.
        uses_gpu: whether a GPU provider is in use.

    Yields:
        A sentence for the user where no limit could be set and the meter alone watches; none where one is set.
    """
    ceiling = int(limit * SLACK) + SLACK_BYTES
    if sys.platform == "win32":
        from facefusion.memory.job_object import committed_memory_limit  # noqa: PLC0415 - Windows only

        with committed_memory_limit(ceiling) as refusal:
            yield refusal
    elif sys.platform == "linux":
        with _data_limit(ceiling, uses_gpu=uses_gpu) as refusal:
            yield refusal
    else:
        yield "This system has no memory limit per process, so the limit is watched but not enforced by the system."


if sys.platform == "linux":
    import resource

    @contextlib.contextmanager
    def _data_limit(ceiling: int, *, uses_gpu: bool) -> Iterator[str | None]:
        if uses_gpu:
            yield (
                "With a GPU provider the system's own memory limit is not set, since a GPU driver may not survive it; "
                "the limit is watched."
            )
            return
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        # What is reserved already without being resident does not belong to the run.
        info = psutil.Process().memory_info()
        ceiling += max(0, int(info.data) - int(info.rss))
        if hard != resource.RLIM_INFINITY and ceiling > hard:
            yield f"This process may not take more than {hard >> 20} MiB already, so no further limit is set."
            return
        try:
            resource.setrlimit(resource.RLIMIT_DATA, (ceiling, hard))
        except (OSError, ValueError) as error:
            yield f"The system's memory limit could not be set ({error}); the limit is watched."
            return
        try:
            yield None
        finally:
            resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
