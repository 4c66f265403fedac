"""Load, memory and temperature of graphics cards, as NVIDIA's driver tells them whenever Prometheus asks.

What cannot be told is not there: a gauge at zero would say that a card is idle.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pynvml
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

logger = logging.getLogger(__name__)

MEGABYTE = 1 << 20

_GAUGES = (
    ("gpu_utilization", "Percent of the time in which a card computed.", "utilization"),
    ("gpu_memory_used_mb", "Video memory in use by all processes and the driver, in MiB.", "used"),
    ("gpu_memory_total_mb", "Video memory of a card, in MiB.", "total"),
    ("gpu_temperature_celsius", "Temperature of a card.", "temperature"),
)


class GpuGauges(Collector):
    """Gauges of every card that this machine or container sees, with the label ``device``: ``gpu0``, ``gpu1``, ...

    Args:
        nvml: NVIDIA's library, as nvidia-ml-py has it; another one in tests.
    """

    def __init__(self, nvml: Any = pynvml) -> None:  # noqa: ANN401 - an untyped library
        self._nvml = nvml
        self._is_open = False

    def collect(self) -> Iterator[Metric]:
        """One metric for each thing that at least one card tells; none without a card."""
        cards = [(f"gpu{index}", self._look(handle)) for index, handle in self._handles()]
        for name, text, key in _GAUGES:
            told = [(device, values[key]) for device, values in cards if key in values]
            if told:
                family = GaugeMetricFamily(name, text, labels=["device"])
                for device, value in told:
                    family.add_metric([device], value)
                yield family

    def _handles(self) -> Iterator[tuple[int, Any]]:
        try:
            if not self._is_open:
                self._nvml.nvmlInit()
                self._is_open = True
            count = self._nvml.nvmlDeviceGetCount()
        except self._nvml.NVMLError as error:
            logger.debug("no graphics card is watched: %s", error)
            self._is_open = False  # a driver may be there the next time
            return
        for index in range(count):
            handle = self._told(functools.partial(self._nvml.nvmlDeviceGetHandleByIndex, index))
            if handle is not None:
                yield index, handle

    def _look(self, handle: Any) -> dict[str, float]:  # noqa: ANN401 - an untyped library
        nvml = self._nvml
        rates = self._told(lambda: nvml.nvmlDeviceGetUtilizationRates(handle))
        memory = self._told(lambda: nvml.nvmlDeviceGetMemoryInfo(handle))
        temperature = self._told(lambda: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU))
        values: dict[str, float] = {}
        if rates is not None:
            values["utilization"] = float(rates.gpu)
        if memory is not None:
            values |= {"used": memory.used / MEGABYTE, "total": memory.total / MEGABYTE}
        if temperature is not None:
            values["temperature"] = float(temperature)
        return values

    def _told(self, ask: Callable[[], Any]) -> Any:  # noqa: ANN401 - an untyped library
        """What the driver answers; none where this card does not have it, as parts of cards have no utilization."""
        try:
            return ask()
        except self._nvml.NVMLError as error:
            logger.debug("a graphics card does not tell all: %s", error)
            return None
