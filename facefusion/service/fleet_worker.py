"""A worker, put together: engine, storage, Redis and metrics."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import psutil

from facefusion.core.stop import StopToken
from facefusion.core.ticker import Ticker
from facefusion.observability.events import Event, EventSink
from facefusion.pipeline.work_root import work_root
from facefusion.service.celery_app import make_celery
from facefusion.service.health import Readiness, queue_look, storage_look
from facefusion.service.instruments import Metrics
from facefusion.service.leases import LEASE_SECONDS, Leases
from facefusion.service.ports import FileStore
from facefusion.service.pulse import Patience
from facefusion.service.records import JobRecord
from facefusion.service.redis_link import RedisLink
from facefusion.service.redis_queue import RedisQueue
from facefusion.service.rendering import Renderer
from facefusion.service.retention import Retention
from facefusion.service.room import Room
from facefusion.service.scratch import sweep_scratch
from facefusion.service.sweeping import FleetSweep
from facefusion.service.tasks import DeskTerms, UnitDesk, Voice
from facefusion.service.worker import Worker

HOUR = 3600.0
LOOK_SECONDS = 30.0
"""How often a worker looks whether it is its turn to erase what is over."""


@dataclass(frozen=True, slots=True)
class Terms:
    """How a worker goes about its work."""

    retention_hours: float
    """How long results are kept."""
    memory_limit: float = 0.0
    """Gigabytes that this worker may use; 0 for what there is."""
    patience: Patience = field(default_factory=Patience)
    """With work that shows no sign of life."""
    temp_path: Path | None = None
    """For temporary files, as ``--temp-path`` has it."""
    lease_seconds: float = LEASE_SECONDS
    """After which it counts as lost when it says nothing."""
    private: tuple[Path, ...] = ()
    """Folders of this machine that no client is told of."""


@dataclass(frozen=True, slots=True)
class MeteredVoice:
    """Passes on what a worker does, and counts it.

    Args:
        events: told what happens while a unit is done.
        metrics: count.
        worker: one of a few names.
    """

    events: EventSink
    metrics: Metrics
    worker: str

    def emit(self, event: Event) -> None:
        """Pass an event on."""
        self.events.emit(event)
        self.metrics.emit(event)

    def segment_done(self) -> None:
        """Count it."""
        self.metrics.segment_done()

    def job_ended(self, job: JobRecord) -> None:
        """Count the job, and what all workers did for it."""
        self.metrics.job_ended(job, self.worker)
        report = job.report
        if report is not None:
            self.metrics.work_done(
                frames=cast("int", report["frames"]),
                faces=cast("int", report["faces"]),
                stages=cast("dict[str, float]", report["stages"]),
                models=cast("dict[str, str]", report["models"]),
            )


def run_worker(
    url: str,
    renderer: Renderer,
    files: FileStore,
    voice: Voice,
    stop: StopToken,
    terms: Terms,
    readiness: Readiness | None = None,
) -> None:
    """Work for the fleet until ``stop`` is requested, and the unit at hand is done.

    Args:
        url: of Redis.
        renderer: makes the pictures.
        files: that the fleet shares.
        voice: is told what is done.
        stop: ends it.
        terms: of the work.
        readiness: is told what to look at.

    Raises:
        ServiceUnavailableError: Redis cannot be used at the start.
    """
    link = RedisLink(url)
    name = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
    leases = Leases(link, name, lease_seconds=terms.lease_seconds)
    process = psutil.Process()
    queue = RedisQueue(link)
    room = Room(terms.memory_limit, lambda: process.memory_info().rss, renderer.video_shortage)
    if readiness is not None:
        readiness.add("queue", queue_look(queue))
        readiness.add("storage", storage_look(files))
        readiness.add("worker", room.look)
    root = work_root(terms.temp_path)
    sweep_scratch((root,))  # what this machine was at when a worker was killed shows faces
    desk = UnitDesk(
        queue,
        leases,
        files,
        renderer,
        voice,
        room,
        DeskTerms(terms.patience, root, terms.retention_hours * HOUR, terms.private),
    )
    retention = Retention(files, queue, (files.sweep,), terms.retention_hours)
    sweeping = Ticker(LOOK_SECONDS, FleetSweep(link, retention.sweep).look, "sweeping")
    try:
        with contextlib.closing(sweeping):
            sweeping.start()
            Worker(make_celery(url), leases, renderer.breed, desk.do).run(stop)
    finally:
        link.close()
