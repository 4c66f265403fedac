"""What Prometheus is told of the machine and of the queue, looked up whenever it asks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

import psutil
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from facefusion.memory.machine import Machine, read_machine
from facefusion.service.errors import ServiceUnavailableError
from facefusion.service.records import JobState, Priority

MEGABYTE = 1 << 20


class WatchedQueue(Protocol):
    """What of a :class:`~facefusion.service.ports.JobQueue` is watched."""

    def waiting(self) -> Mapping[Priority, int]:
        """How many jobs wait, by priority."""

    def oldest_waiting(self) -> float | None:
        """When the job that waits longest was submitted; none where none waits."""

    def workers(self) -> int:
        """How many workers were seen of late."""

    def ended(self) -> Mapping[JobState, int]:
        """How many jobs came to which end."""

    def retries(self) -> int:
        """How many segments were begun again."""


class MachineGauges(Collector):
    """Memory and disks. In a container the machine is what the container may use.

    Args:
        places: folders whose disks are watched, by names such as ``temp`` and ``storage``.
        read: looks at the machine; another one in tests.
    """

    def __init__(self, places: Mapping[str, Path], read: Callable[[], Machine] = read_machine) -> None:
        self._places = dict(places)
        self._read = read

    def collect(self) -> Iterator[Metric]:
        """Memory always; disks as far as their folders are there."""
        machine = self._read()
        used = machine.memory - machine.available
        yield GaugeMetricFamily("memory_usage_mb", "Memory in use by all processes, in MiB.", used / MEGABYTE)
        yield GaugeMetricFamily("memory_usage_percent", "The same in percent of all.", 100 * used / machine.memory)
        free = GaugeMetricFamily("facefusion_disk_free_mb", "Room on the disk of a folder, in MiB.", labels=["place"])
        share = GaugeMetricFamily("facefusion_disk_free_percent", "The same in percent of all.", labels=["place"])
        for name, path in self._places.items():
            try:
                disk = psutil.disk_usage(str(path))
            except OSError:
                continue
            free.add_metric([name], disk.free / MEGABYTE)
            # Of what users may write: systems keep some for themselves.
            share.add_metric([name], 100 * disk.free / max(disk.free + disk.used, 1))
        yield free
        yield share


class QueueGauges(Collector):
    """What waits, how long, who works, and what came of it.

    The queue counts, not whoever does a job: it alone knows of the jobs that ended as their workers were lost.

    Args:
        queue: asked each time.
        clock: seconds since 1970; another one in tests.
    """

    def __init__(self, queue: WatchedQueue, clock: Callable[[], float] = time.time) -> None:
        self._queue = queue
        self._clock = clock

    def collect(self) -> Iterator[Metric]:
        """Whether the queue can be reached, and if so what is in it."""
        try:
            waiting, oldest, workers = self._queue.waiting(), self._queue.oldest_waiting(), self._queue.workers()
            ended, retries = self._queue.ended(), self._queue.retries()
        except ServiceUnavailableError:
            yield _reachable(0)
            return
        yield _reachable(1)
        depth = GaugeMetricFamily("facefusion_queue_depth", "Jobs that wait, by priority.", labels=["priority"])
        for priority in Priority:
            depth.add_metric([priority.value], waiting.get(priority, 0))
        yield depth
        wait = 0.0 if oldest is None else max(self._clock() - oldest, 0.0)
        yield GaugeMetricFamily("facefusion_queue_age_seconds", "How long the job has waited that waits longest.", wait)
        yield GaugeMetricFamily("facefusion_workers", "Workers that were seen of late.", workers)
        jobs = CounterMetricFamily("facefusion_jobs", "Jobs that ended, by outcome.", labels=["outcome"])
        for state in JobState:
            if state.is_final:  # from zero on, or the first of them would be no increase
                jobs.add_metric([state.value], ended.get(state, 0))
        yield jobs
        yield CounterMetricFamily("facefusion_segment_retries", "Segments that were begun again.", retries)


def _reachable(value: int) -> Metric:
    return GaugeMetricFamily("facefusion_queue_reachable", "1 where the queue can be reached, else 0.", value)
