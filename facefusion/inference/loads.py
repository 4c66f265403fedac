"""Which of several devices is least busy."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence

from facefusion.inference.execution import Device
from facefusion.inference.session import ModelFile


class DeviceLoads:
    """Counts the runs that wait or are under way on each device, each weighed by what its graph takes. Thread-safe.

    A graph weighs the mean of its runs so far, in seconds; one that has not run yet the mean of all graphs.

    Args:
        devices: at least one.
    """

    def __init__(self, devices: Sequence[Device]) -> None:
        self._devices = sorted(devices, key=lambda device: device.id)
        self._lock = threading.Lock()
        self._under_way: dict[int, Counter[ModelFile]] = {device.id: Counter() for device in devices}
        self._runs: dict[ModelFile, tuple[int, float]] = {}
        """Count and seconds of each graph's runs."""

    def begin(self, model: ModelFile) -> Device:
        """Choose a device for one run of ``model`` and count it there; of equals the one with the lowest number."""
        with self._lock:
            device = self._devices[0] if len(self._devices) == 1 else min(self._devices, key=self._load)
            self._under_way[device.id][model] += 1
            return device

    def end(self, model: ModelFile, device: Device) -> None:
        """Count it no longer."""
        with self._lock:
            self._under_way[device.id][model] -= 1

    def took(self, model: ModelFile, seconds: float) -> None:
        """Learn from one run what the next ones take."""
        with self._lock:
            count, before = self._runs.get(model, (0, 0.0))
            self._runs[model] = count + 1, before + seconds

    def _load(self, device: Device) -> float:
        return sum(count * self._weight(model) for model, count in self._under_way[device.id].items() if count)

    def _weight(self, model: ModelFile) -> float:
        known = self._runs.get(model)
        if known is not None:
            return known[1] / known[0]
        means = [seconds / count for count, seconds in self._runs.values()]
        return sum(means) / len(means) if means else 1.0
