"""How many graphs may run on a device at once: one gate for each provider and device, made as it is needed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from facefusion.core.stop import POLL_SECONDS
from facefusion.inference.execution import Device, Execution
from facefusion.inference.slots import CardSlots, card_slots
from facefusion.observability.events import EventSink, Notice

Check: TypeAlias = Callable[[], None]
"""Called again and again by who waits; raises where the wait is to end."""


def wait_on() -> None:
    """The check of one whom nothing keeps from waiting."""


class DeviceGate:
    """Lets a number of runs through at once.

    Args:
        slots: graphs that may run at once; none for no limit.
        card: where the device is shared with other processes, what is counted for all of them.
    """

    def __init__(self, slots: int | None, card: CardSlots | None = None) -> None:
        self._slots = slots
        self._card = card
        self._inside = 0
        self._changed = threading.Condition()

    @property
    def slots(self) -> int | None:
        """Graphs that may run at once; none for no limit."""
        return self._slots

    def resize(self, slots: int) -> None:
        """Let another number through from now on; has no effect on a gate without a limit."""
        with self._changed:
            if self._slots is not None:
                self._slots = slots
                self._changed.notify_all()

    @contextmanager
    def passage(self, check: Check = wait_on) -> Iterator[None]:
        """Wait for a free slot and hold it.

        Args:
            check: called while waiting.
        """
        if self._slots is None:
            yield
            return
        with self._changed:
            while self._inside >= self._slots:
                self._changed.wait(POLL_SECONDS)
                check()
            self._inside += 1
        try:
            if self._card is None:
                yield
            else:
                with self._card.held(self._slots, check):
                    yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify()


class DeviceGates:
    """Gates by provider and device. Thread-safe.

    Args:
        execution: providers and devices, and how many graphs may run on one.
        events: told where processes cannot count together.
    """

    def __init__(self, execution: Execution, events: EventSink) -> None:
        self._execution = execution
        self._events = events
        self._lock = threading.Lock()
        self._gates: dict[tuple[str, int], DeviceGate] = {}
        self._widths: dict[int, int | None] = {
            device.id: execution.slots(execution.providers[0], device) for device in execution.devices
        }

    def width(self, number: int) -> int | None:
        """Graphs that the first provider may run at once on a device; none for any number."""
        return self._widths[number]

    def set_width(self, number: int, width: int) -> None:
        """Let the first provider run so many at once on a device from now on."""
        with self._lock:
            self._widths[number] = width
            gate = self._gates.get((self._execution.providers[0].name, number))
            if gate is not None:
                gate.resize(width)

    def narrow(self, number: int) -> int | None:
        """Let half as many run at once on a device from now on; returns how many, none where that is no fewer."""
        with self._lock:
            width = self._widths[number]
        if width is None or width == 1:
            return None
        self.set_width(number, width // 2)
        return width // 2

    def gate(self, provider_name: str, device: Device) -> DeviceGate:
        """The gate that runs with a provider on a device pass."""
        with self._lock:
            gate = self._gates.get((provider_name, device.id))
            if gate is None:
                provider = next(entry for entry in self._execution.providers if entry.name == provider_name)
                is_first = provider is self._execution.providers[0]
                width = self._widths[device.id] if is_first else self._execution.slots(provider, device)
                card = self._card(device) if provider.on_gpu and width is not None else None
                gate = self._gates[provider_name, device.id] = DeviceGate(width, card)
            return gate

    def slots(self) -> dict[str, int | None]:
        """Width of each gate that was used, by provider and number of the device."""
        with self._lock:
            return {f"{provider}:{number}": gate.slots for (provider, number), gate in self._gates.items()}

    def _card(self, device: Device) -> CardSlots | None:
        """What is counted for all processes on a card; none where nothing says which card it is."""
        if not device.card:
            return None
        folder = self._execution.cache / "gates"
        try:
            return card_slots(folder, device.card)
        except OSError as error:
            message = (
                f"Other processes on {device.name} are not counted: {folder} cannot hold locks "
                f"({error.strerror or error}), so each lets its own number of graphs run at once."
            )
            self._events.emit(Notice(message, warning=True))
            return None
