"""What is told of cards, the machine and the queue: what is not known is not there, rather than zero."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from facefusion.memory.machine import Machine
from facefusion.service.errors import ServiceUnavailableError
from facefusion.service.records import JobState, Priority

pytestmark = pytest.mark.service


def told(collector):
    """Name and labels of each sample, and its value."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for metric in collector.collect()
        for sample in metric.samples
    }


class NvmlError(Exception):
    pass


class Nvml:
    """A driver with some cards; of each, what it tells."""

    NVMLError = NvmlError
    NVML_TEMPERATURE_GPU = 0

    def __init__(self, *cards, is_there=True):
        self.cards = cards
        self.is_there = is_there
        self.opened = 0

    def nvmlInit(self):  # noqa: N802 - NVIDIA's name
        if not self.is_there:
            raise NvmlError("NVML Shared Library Not Found")
        self.opened += 1

    def nvmlDeviceGetCount(self):  # noqa: N802 - NVIDIA's name
        return len(self.cards)

    def nvmlDeviceGetHandleByIndex(self, index):  # noqa: N802 - NVIDIA's name
        return self._of(self.cards[index], "handle") and self.cards[index]

    def nvmlDeviceGetUtilizationRates(self, card):  # noqa: N802 - NVIDIA's name
        return SimpleNamespace(gpu=self._of(card, "gpu"))

    def nvmlDeviceGetMemoryInfo(self, card):  # noqa: N802 - NVIDIA's name
        return SimpleNamespace(used=self._of(card, "used") << 20, total=self._of(card, "total") << 20)

    def nvmlDeviceGetTemperature(self, card, sensor):  # noqa: N802 - NVIDIA's name
        assert sensor == self.NVML_TEMPERATURE_GPU
        return self._of(card, "temperature")

    def _of(self, card, key):
        if key not in card:
            raise NvmlError("Not Supported")
        return card[key]


BUSY = {"handle": True, "gpu": 97, "used": 8000, "total": 12288, "temperature": 71}
PART = {"handle": True, "used": 100, "total": 20096, "temperature": 40}
"""Part of a card, which tells no utilization."""


def gauges(nvml):
    from facefusion.service.gpu_gauges import GpuGauges

    return GpuGauges(nvml)


def test_a_card_tells_load_memory_and_temperature():
    assert told(gauges(Nvml(BUSY))) == {
        ("gpu_utilization", "gpu0"): 97,
        ("gpu_memory_used_mb", "gpu0"): 8000,
        ("gpu_memory_total_mb", "gpu0"): 12288,
        ("gpu_temperature_celsius", "gpu0"): 71,
    }


def test_what_a_card_does_not_tell_is_absent_and_not_zero():
    found = told(gauges(Nvml(PART, BUSY, {})))
    assert ("gpu_utilization", "gpu0") not in found
    assert found["gpu_memory_used_mb", "gpu0"] == 100
    assert found["gpu_utilization", "gpu1"] == 97
    assert not any(device == "gpu2" for _, device in found)


def test_without_cards_there_is_nothing():
    assert list(gauges(Nvml()).collect()) == []


def test_a_driver_that_comes_later_is_found_and_opened_once():
    nvml = Nvml(BUSY, is_there=False)
    collector = gauges(nvml)
    assert list(collector.collect()) == []
    nvml.is_there = True
    assert ("gpu_utilization", "gpu0") in told(collector)
    assert ("gpu_utilization", "gpu0") in told(collector)
    assert nvml.opened == 1


def test_memory_is_that_of_the_container_and_disks_those_that_are_there(tmp_path):
    from facefusion.service.gauges import MachineGauges

    machine = Machine(cores=2, memory=1000 << 20, available=250 << 20, system="Linux")
    found = told(MachineGauges({"temp": tmp_path, "gone": Path("/no/such/folder")}, lambda: machine))
    assert found[("memory_usage_mb",)] == 750
    assert found[("memory_usage_percent",)] == 75
    assert 0 < found["facefusion_disk_free_percent", "temp"] <= 100
    assert found["facefusion_disk_free_mb", "temp"] > 0
    assert not any("gone" in key for key in found)


class Queue:
    def __init__(self, waiting, oldest, workers, ended=None, retries=0):
        self._waiting, self._oldest, self._workers = waiting, oldest, workers
        self._ended, self._retries = ended or {}, retries

    def waiting(self):
        if self._waiting is None:
            raise ServiceUnavailableError("Redis does not answer", "Start it.")
        return self._waiting

    def oldest_waiting(self):
        return self._oldest

    def workers(self):
        return self._workers

    def ended(self):
        return self._ended

    def retries(self):
        return self._retries


def test_a_queue_tells_what_waits_who_works_and_what_came_of_it():
    from facefusion.service.gauges import QueueGauges

    queue = Queue({Priority.HIGH: 2, Priority.LOW: 5}, 1000.0, 3, {JobState.COMPLETED: 9, JobState.PARKED: 1}, 4)
    assert told(QueueGauges(queue, clock=lambda: 1090.0)) == {
        ("facefusion_queue_reachable",): 1,
        ("facefusion_queue_depth", "high"): 2,
        ("facefusion_queue_depth", "normal"): 0,
        ("facefusion_queue_depth", "low"): 5,
        ("facefusion_queue_age_seconds",): 90,
        ("facefusion_workers",): 3,
        ("facefusion_jobs_total", "completed"): 9,
        ("facefusion_jobs_total", "failed"): 0,
        ("facefusion_jobs_total", "rejected"): 0,
        ("facefusion_jobs_total", "cancelled"): 0,
        ("facefusion_jobs_total", "parked"): 1,
        ("facefusion_segment_retries_total",): 4,
    }


def test_an_empty_queue_is_no_seconds_old():
    from facefusion.service.gauges import QueueGauges

    assert told(QueueGauges(Queue({}, None, 0)))[("facefusion_queue_age_seconds",)] == 0


def test_of_a_queue_out_of_reach_only_that_is_told():
    from facefusion.service.gauges import QueueGauges

    assert told(QueueGauges(Queue(None, None, 0))) == {("facefusion_queue_reachable",): 0}
