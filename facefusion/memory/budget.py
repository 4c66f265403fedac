"""From a memory limit to the number of frames and workers that fit into it.

Frames come in groups that are worked on together; a group is alive until its last frame is encoded.

Everything here is an estimate made before the first frame: its task is to choose a window that fits, or to say at
once that none does. The meter (:mod:`facefusion.memory.meter`) watches what really happens.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from facefusion.core.errors import ResourceError
from facefusion.memory.machine import Machine

GIB = 1 << 30

LESS = (
    "Raise --system-memory-limit, lower --execution-thread-count or --execution-queue-count, or choose smaller models "
    "or frames."
)
"""What can be done where a run takes more memory than there is."""

WAITING_BYTES = 8 << 20
"""Of the groups that wait, for each worker: one waits beside each that is worked on, so that no worker waits for the
decoder; of large frames fewer do, since the encoder is what all wait for then. From 1440p on that shows."""

GROUPS_IN_PASSING = 2
"""Groups beside those of the workers: one being decoded, one being encoded."""

MAXIMUM_AUTOMATIC_WORKERS = 32


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """What a run is expected to take, in bytes."""

    frame: int
    """One frame in the window, its result included where that is another picture."""
    together: int = 1
    """Frames of a group."""
    worker: int = 0
    """Buffers and tensors of one worker: crops, tiles, activations of a graph."""
    models: int = 0
    """Loaded sessions (:func:`session_bytes`)."""
    media: int = 0
    """Decoder and encoder: reference frames and look-ahead."""
    base: int = 200 << 20
    """Interpreter and libraries before any of this: 90 MiB measured with NumPy, OpenCV, ONNX Runtime and PyAV loaded,
    and as much again for what they and the allocator keep once they work."""


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """What fits."""

    workers: int
    window: int
    """Groups of frames that may be alive at once, those being decoded and encoded included."""
    expected: int
    """Bytes this is expected to take at its peak."""
    limit: int
    """Bytes it may take."""


class MemoryBudget:
    """How much RAM a run may take.

    Args:
        limit_gb: what the user allows, in GB (2**30 bytes); 0 for nine tenths of what the machine has free now.
        machine: the machine or container; a limit above its memory is cut to it.
    """

    def __init__(self, limit_gb: float, machine: Machine) -> None:
        self._chosen = limit_gb > 0
        self._machine = machine
        self.limit = min(int(limit_gb * GIB), machine.memory) if self._chosen else machine.available * 9 // 10

    @property
    def chosen(self) -> bool:
        """True where the user set the limit."""
        return self._chosen

    def plan(self, need: MemoryNeed, workers: int) -> MemoryPlan:
        """Choose the largest window and number of workers that fit, up to ``workers``.

        A smaller window is tried before fewer workers: a worker that waits at times still does more than none.

        Raises:
            ResourceError: one worker with the smallest window does not fit.
        """
        for count in range(max(1, workers), 0, -1):
            fixed = need.base + need.models + need.media + count * need.worker
            smallest = count + GROUPS_IN_PASSING
            group = max(1, need.together * need.frame)
            largest = smallest + min(count, count * WAITING_BYTES // group)
            window = min(largest, (self.limit - fixed) // group)
            if window >= smallest:
                return MemoryPlan(count, window, fixed + window * group, self.limit)
        raise self._refusal(need)

    def _refusal(self, need: MemoryNeed) -> ResourceError:
        least = need.base + need.models + need.media + need.worker
        least += (1 + GROUPS_IN_PASSING) * need.together * need.frame
        wanted = f"It takes about {least / GIB:.1f} GB"
        ways = "or choose smaller models or frames"
        if need.together > 1:
            ways = f"lower --execution-queue-count, {ways}"
        if self._chosen and least <= self._machine.memory:
            return ResourceError(
                f"a memory limit of {self.limit / GIB:.1f} GB does not hold the smallest window of frames",
                f"{wanted}: set --system-memory-limit {math.ceil(least / GIB)}, {ways}.",
            )
        return ResourceError(
            f"this machine has {self.limit / GIB:.1f} GB of memory for the run, too little for the smallest window",
            f"{wanted}: free memory, use a larger machine, {ways}.",
        )


def session_bytes(file_bytes: int) -> int:
    """RAM that a loaded graph takes, from the size of its file: the weights, packed a second time for the processor.

    Measured on the embedded models (0.2 to 64 MB on disk): 1.3 to 2.4 times the file, small ones some MB more.
    """
    return (16 << 20) + file_bytes * 5 // 2


def automatic_workers(machine: Machine, *, on_gpu: bool) -> int:
    """Number of worker threads where the user leaves it to us.

    On the processor one worker per core: a graph run by one thread keeps a core busy, and more workers only cost
    memory. With a GPU twice the cores, at most 32: workers wait for the device most of the time.
    """
    cores = machine.cores
    if on_gpu:
        return max(2, min(round(2 * cores), MAXIMUM_AUTOMATIC_WORKERS))
    return max(1, min(math.ceil(cores), MAXIMUM_AUTOMATIC_WORKERS))
