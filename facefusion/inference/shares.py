"""What part of a device's memory each graph may take."""

from __future__ import annotations

import threading

from facefusion.inference.execution import Device, Execution
from facefusion.inference.gate import DeviceGates
from facefusion.inference.room import DeviceRoom
from facefusion.inference.session import ModelFile
from facefusion.inference.shelf import Place
from facefusion.memory.video import MEBIBYTE

LEAST_GROWTH = 16 * MEBIBYTE
"""A share that cannot grow by more is not worth loading a session again."""


class Shares:
    """The share of each graph on each device. Thread-safe.

    A limit of ONNX Runtime holds for one session. So that all together keep within the user's limit, each is held to
    what it is estimated to take; one that turns out to need more gets twice as much, while the others leave room.

    Args:
        execution: estimates what a graph takes.
        gates: say how many runs may be under way at once.
        room: of each device.
    """

    def __init__(self, execution: Execution, gates: DeviceGates, room: DeviceRoom) -> None:
        self._execution = execution
        self._gates = gates
        self._room = room
        self._lock = threading.Lock()
        self._shares: dict[tuple[ModelFile, int, int | None, int], int] = {}
        """By graph, device, width of its gate, and pictures in a run."""
        self._pictures = 1
        self._expected: tuple[ModelFile, ...] = ()

    @property
    def expected(self) -> tuple[ModelFile, ...]:
        """Graphs of the step."""
        return self._expected

    def of(self, model: ModelFile, number: int) -> int:
        """Bytes of a device that the session of a graph may take."""
        return self._share(model, number, self._gates.width(number))

    def claim(self, model: ModelFile, number: int, claimed: int) -> int:
        """What a loaded session claims: what it is estimated to take in this step, unless it is held to a share.

        One that the step does not run goes on claiming what it did, and needs its file no more.
        """
        may_change = claimed and self._execution.memory_limit is None and model in self._expected
        return self.of(model, number) if may_change else claimed

    def begin(self, models: tuple[ModelFile, ...], pictures: int) -> None:
        """A step begins that runs these graphs, with so many pictures in a run at most."""
        self._expected, self._pictures = models, pictures

    def plan(self, device: Device, claimed: int) -> None:
        """Choose how many runs may be under way on a device, so that the graphs of the step fit.

        Raises:
            ResourceError: they do not.
        """
        capacity = self._room.capacity(device.id, claimed)
        widest = self._execution.slots(self._execution.providers[0], device)
        if capacity is None or widest is None:
            return
        narrowest = widest if self._execution.gate_count else 1
        for width in range(widest, narrowest - 1, -1):
            if self._needed(device, width) <= capacity:
                self._gates.set_width(device.id, width)
                return
        needed = self._needed(device, narrowest)
        raise self._room.refusal(device.id, needed, claimed, "the models of this step take")

    def larger(self, short: Place, claimed: int) -> int | None:
        """The share that the graph of a session could have that finds its own too small; none where there is none.

        Args:
            short: its place.
            claimed: bytes that sessions on its device claim.
        """
        if self._execution.memory_limit is None:
            return None
        width = self._gates.width(short.device)
        with self._lock:
            now = self._known(short.model, short.device, width)
            if short.bytes < now:
                return now  # another thread that ran it was here before
            others = sum(self._known(model, short.device, width) for model in self._expected if model != short.model)
            most = (self._room.capacity(short.device, claimed) or 0) - others
            larger = min(2 * now, most)
            return None if larger < now + LEAST_GROWTH else larger

    def grow(self, short: Place, claimed: int) -> bool:
        """Give it that share; returns whether there was one."""
        larger = self.larger(short, claimed)
        if larger is None:
            return False
        with self._lock:
            self._shares[short.model, short.device, self._gates.width(short.device), self._pictures] = larger
        return True

    def _needed(self, device: Device, width: int) -> int:
        return sum(self._share(model, device.id, width) for model in self._expected)

    def _share(self, model: ModelFile, number: int, width: int | None) -> int:
        with self._lock:
            return self._known(model, number, width)

    def _known(self, model: ModelFile, number: int, width: int | None) -> int:
        key = model, number, width, self._pictures
        share = self._shares.get(key)
        if share is None:
            share = self._shares[key] = self._execution.share(model, width, self._pictures)
        return share
