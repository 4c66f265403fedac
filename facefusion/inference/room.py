"""How much memory of each device sessions may take."""

from __future__ import annotations

import math
from collections.abc import Sequence

from facefusion.core.errors import FaceFusionError, VideoMemoryError
from facefusion.inference.devices import Gpu
from facefusion.inference.execution import Device, Execution
from facefusion.inference.nvml import MemoryReader, read_memory
from facefusion.inference.providers.base import GIB
from facefusion.memory.budget import in_gb
from facefusion.memory.video import CONTEXT_BYTES, MEBIBYTE

LEAST_FREE = 2 * CONTEXT_BYTES
"""Bytes of a card without which nothing is begun: a context, and the smallest of models."""


class DeviceRoom:
    """The bounds of each device: the user's limit, and what is free.

    Args:
        execution: devices and limit.
        read: asks the driver; another function in tests.
    """

    def __init__(self, execution: Execution, read: MemoryReader = read_memory) -> None:
        self._execution = execution
        self._read = read
        self._devices = {device.id: device for device in execution.devices}
        self._context = CONTEXT_BYTES if execution.on_gpu else 0

    def capacity(self, number: int, claimed: int) -> int | None:
        """Bytes that all sessions on a device may take in all; none for no bound. Never below 0.

        Args:
            number: of the device.
            claimed: bytes that sessions on it claim already.
        """
        bounds = (self._execution.memory_limit, self._for_us(self._devices[number], claimed))
        known = [bound for bound in bounds if bound is not None]
        return max(0, min(known) - self._context) if known else None

    def refusal(self, number: int, needed: int, claimed: int, who_takes: str) -> FaceFusionError:
        """What to tell a user whose graphs do not fit.

        Args:
            number: of the device.
            needed: bytes of sessions.
            claimed: bytes that sessions on it claim already.
            who_takes: them, with the verb.
        """
        device, limit = self._devices[number], self._execution.memory_limit
        needed += self._context
        takes = f"{who_takes} about {in_gb(needed)} GB of video memory"
        free = self._for_us(device, claimed)
        ways = "choose smaller models or fewer processors"
        if self._execution.providers[0].halves and not self._execution.half:
            ways = f"set --inference-precision half, {ways}"
        ways = f"{ways}, or run on the processor with --execution-providers cpu."
        if limit is not None and (free is None or limit < free):
            more = f"Set --gpu-memory-limit {in_gb(needed)}, "
            fault = f"{takes}, and --gpu-memory-limit allows {_at_most(limit)} GB"
            return VideoMemoryError(fault, more + ways, needed=needed)
        where = f"device {number}" + (f" ({device.name})" if device.name else "")
        return VideoMemoryError(
            f"{takes}, and {_at_most(free or 0)} GB are free on {where}",
            f"Close other programs that use it, choose another one with --execution-device-ids, {ways}",
            needed=needed,
            may_pass=needed <= (limit or needed) and needed <= (device.total_memory or 0),
        )

    def _for_us(self, device: Device, claimed: int) -> int | None:
        """Bytes of a device that this process has or could have; none where it does not tell."""
        memory = self._read(device.card)
        if memory is None:
            return device.free_memory
        if memory.own is not None:
            return memory.free + memory.own
        # What is claimed need not be taken yet, so there is never more than there was before anything was loaded.
        now = memory.free + claimed + (self._context if claimed else 0)
        return now if device.free_memory is None else min(now, device.free_memory)


def shortage(cards: Sequence[Gpu], asked: Sequence[int], limit: int | None) -> str:
    """What is missing for any work on the cards of this machine, in a sentence; empty where nothing is.

    Args:
        cards: with what they have free now.
        asked: numbers of those that are to be used, all of them; any one where none are named.
        limit: bytes that a run may take of each, all of which have to be free; none for as much as there is.
    """
    known = {card.index: card.free_memory for card in cards if card.free_memory is not None}
    free = [known[number] for number in asked if number in known] if asked else list(known.values())
    if not free:
        return ""
    wanted = LEAST_FREE if limit is None else limit
    most = min(free) if asked else max(free)
    if most >= wanted:
        return ""
    return f"{most // MEBIBYTE} MiB of video memory are free, and {wanted // MEBIBYTE} MiB are needed"


def _at_most(amount: int) -> str:
    """Bytes in GB, rounded down to a tenth: what is too little does not read as enough."""
    return f"{math.floor(10 * amount / GIB) / 10:g}"
