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
"""Of the groups that wait, for each worker, so that none waits for the decoder and what follows faces; of large frames
fewer do, since the encoder is what all wait for then. From 1440p on that shows."""

FEW_WAITING = 6
"""Groups that wait where workers are few and frames small: one for each worker elsewhere. Searching for faces takes
several times as long as following them; two workers of a 360p video waited a twentieth of their time with two groups,
and with six a run took 2 to 3 % less."""

LIBRARIES = 130 << 20
"""Interpreter and libraries: 90 to 110 MiB measured with NumPy, OpenCV, ONNX Runtime and PyAV loaded, and what the
allocator keeps."""

GROUPS_IN_PASSING = 2
"""Groups beside those of the workers: one being decoded, one being encoded."""

MAXIMUM_AUTOMATIC_WORKERS = 32


@dataclass(frozen=True, slots=True)
class Instead:
    """Something that could be chosen in place of what was, and takes less."""

    option: str
    """As it is written on the command line."""
    saved: int
    """Bytes."""


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
    """Sessions that are still to be loaded (:func:`session_bytes`)."""
    media: int = 0
    """Decoder and encoder: reference frames and look-ahead."""
    base: int = LIBRARIES
    """What is there already, and what of it is still to be read in."""
    peak: int = 0
    """The most that the run held so far; loading a graph takes for a moment up to twice what it keeps."""
    instead: tuple[Instead, ...] = ()
    """What could be chosen where the limit does not hold this, from the least change on."""


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

    A limit that the user sets is cut to what the machine can give: a run that takes more is killed by the system, or
    makes it kill another.

    Args:
        limit_gb: what the user allows, in GB (2**30 bytes), fractions too; 0 for what the machine can give.
        machine: the machine or container.
        held: bytes that this process holds already; they are not among those that are free.
    """

    def __init__(self, limit_gb: float, machine: Machine, held: int = 0) -> None:
        self._limit_gb = limit_gb
        self._most = min(held + machine.available * 9 // 10, machine.memory)
        self.limit = min(int(limit_gb * GIB), self._most) if self.chosen else self._most

    @property
    def chosen(self) -> bool:
        """True where the user set the limit."""
        return self._limit_gb > 0

    def plan(self, need: MemoryNeed, workers: int) -> MemoryPlan:
        """Choose the largest window and number of workers that fit, up to ``workers``.

        A smaller window is tried before fewer workers: a worker that waits at times still does more than none.

        Raises:
            ResourceError: one worker with the smallest window does not fit.
        """
        self.check(need)
        plans = (self._with(need, count) for count in range(max(1, workers), 0, -1))
        return next(plan for plan in plans if plan is not None)

    def check(self, need: MemoryNeed) -> None:
        """Make sure that the smallest window fits.

        Raises:
            ResourceError: it does not.
        """
        if least_bytes(need) > self.limit:
            raise self._refusal(need)

    def _with(self, need: MemoryNeed, workers: int) -> MemoryPlan | None:
        """The largest window that fits with so many workers; none where not even their smallest does."""
        fixed = need.base + need.models + need.media + workers * need.worker
        smallest = workers + GROUPS_IN_PASSING
        group = max(1, need.together * need.frame)
        largest = smallest + min(max(workers, FEW_WAITING), workers * WAITING_BYTES // group)
        window = min(largest, (self.limit - fixed) // group)
        if window < smallest:
            return None
        return MemoryPlan(workers, window, max(fixed + window * group, need.peak), self.limit)

    def _refusal(self, need: MemoryNeed) -> ResourceError:
        least = least_bytes(need)
        ways = "or choose smaller models or frames"
        if need.together > 1:
            ways = f"lower --execution-queue-count, {ways}"
        fitting = [way for way in need.instead if least - way.saved <= self.limit]
        if fitting:
            ways = f"choose {fitting[0].option} (about {in_gb(least - fitting[0].saved)} GB), {ways}"
        wanted = f"It takes about {in_gb(least)} GB"
        if least > self._most:
            return ResourceError(
                f"this machine has {self._most / GIB:.1f} GB of memory for the run, too little for the smallest window "
                "of frames",
                f"{wanted}: free memory, use a larger machine, {ways}.",
            )
        return ResourceError(
            f"a memory limit of {self._limit_gb:g} GB does not hold the smallest window of frames",
            f"{wanted}: set --system-memory-limit {in_gb(least)}, {ways}.",
        )


def least_bytes(need: MemoryNeed) -> int:
    """What the smallest window with one worker takes."""
    groups = (1 + GROUPS_IN_PASSING) * max(1, need.together * need.frame)
    return max(need.base + need.models + need.media + need.worker + groups, need.peak)


def in_gb(amount: int) -> str:
    """Bytes in GB as an option takes them, rounded up to a tenth."""
    return f"{math.ceil(10 * amount / GIB) / 10:g}"


def session_bytes(file_bytes: int) -> int:
    """RAM that a loaded graph takes, from the size of its file: its weights, in the processor's own order.

    Measured on networks of real size (12 to 440 MB on disk), loaded as they are kept once they were optimised: 1.0 to
    1.2 times the file; small ones take some MB more.
    """
    return (16 << 20) + file_bytes * 5 // 4


def automatic_workers(machine: Machine, *, on_gpu: bool) -> int:
    """Number of worker threads where the user leaves it to us.

    On the processor one worker per core: a graph run by one thread keeps a core busy, and more workers only cost
    memory. With a GPU twice the cores, at most 32: workers wait for the device most of the time.
    """
    cores = machine.cores
    if on_gpu:
        return max(2, min(round(2 * cores), MAXIMUM_AUTOMATIC_WORKERS))
    return max(1, min(math.ceil(cores), MAXIMUM_AUTOMATIC_WORKERS))
