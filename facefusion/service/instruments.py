"""What is counted of the service's work, and how Prometheus is told.

Names without the prefix ``facefusion_`` are those that rules and dashboards of users know already. No label holds an
id, a name of a file or anything else of a person.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import psutil
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector

from facefusion.core.report import RunReport
from facefusion.observability.events import Event, FrameHeld, ModelLoaded
from facefusion.service.labels import BoundedLabel
from facefusion.service.records import JobRecord, JobState

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""The text form, which every Prometheus reads."""

DURATIONS = (1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400)
"""Bounds in seconds, from an image to a film; 300 is where the rule for slow jobs begins."""
ANSWERS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
"""Bounds in seconds of answers of the API."""
IN_A_ROW = 3
"""Jobs that have to be slow one after the other for a worker to be taken for ill."""

MOST_STAGES = 64
MOST_MODELS = 256
MOST_PROVIDERS = 16
MOST_WORKERS = 32
"""In one process: one, or one for each of its devices."""
MOST_ROUTES = 64
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

CREATION_SLACK = 3600.0
"""Seconds. A clock that is set forward moves the birth of processes, which is reckoned from now, but no time of a file;
that must not make a process that lives look like one that came later."""


class Metrics:
    """Counts, and tells what was counted. Thread-safe; an :class:`~facefusion.observability.events.EventSink`.

    Args:
        folder: where the processes count; :func:`facefusion.service.metrics.open_metrics` tells the library of it.
    """

    def __init__(self, folder: Path) -> None:
        self.registry = CollectorRegistry()
        """What is told; other collectors may be added."""
        self.registry.register(_OfLivingProcesses(folder))
        self._lock = threading.Lock()
        self._loaded: set[str] = set()
        self._loaded_before: set[str] = set()
        self._latest: dict[str, deque[float]] = {}
        self._stage = BoundedLabel(MOST_STAGES)
        self._model = BoundedLabel(MOST_MODELS)
        self._provider = BoundedLabel(MOST_PROVIDERS)
        self._worker = BoundedLabel(MOST_WORKERS)
        self._route = BoundedLabel(MOST_ROUTES)
        self._make_instruments()

    def _make_instruments(self) -> None:
        # In no registry: what all processes counted is read from the folder.
        self._durations = Histogram(
            "job_duration_seconds",
            "From the beginning of jobs to their end, in seconds.",
            buckets=DURATIONS,
            registry=None,
        )
        self._waits = Histogram(
            "facefusion_job_wait_seconds", "From queueing jobs to their beginning.", buckets=DURATIONS, registry=None
        )
        self._latency = Gauge(
            "job_processing_latency_seconds",
            "Seconds that the last job that a worker finished took.",
            ["worker"],
            registry=None,
            multiprocess_mode="livemostrecent",
        )
        self._latency_of_three = Gauge(
            "job_processing_latency_of_last_three_seconds",
            "Seconds of the quickest of the last three jobs that a worker finished.",
            ["worker"],
            registry=None,
            multiprocess_mode="livemostrecent",
        )
        self._frames = Counter("facefusion_frames_processed", "Frames worked on.", registry=None)
        self._faces = Counter("facefusion_faces_processed", "Faces worked on.", registry=None)
        self._held = Counter("facefusion_frames_held", "Frames passed through, as work on them failed.", registry=None)
        self._stages = Counter(
            "facefusion_stage_seconds", "Seconds of stages, summed over threads.", ["stage"], registry=None
        )
        self._loads = Counter("facefusion_model_loads", "Models loaded.", ["model", "provider"], registry=None)
        self._load_seconds = Counter("facefusion_model_load_seconds", "Seconds of loading models.", registry=None)
        self._hits = Counter("facefusion_model_cache_hits", "Jobs that found a model loaded.", ["model"], registry=None)
        self._segments = Counter("facefusion_segments", "Segments of videos that were finished.", registry=None)
        self._calls = Counter(
            "facefusion_callbacks", "Tries to call whoever asked for it at a job's end.", ["outcome"], registry=None
        )
        self._requests = Counter(
            "facefusion_http_requests", "Requests to the API.", ["method", "route", "status"], registry=None
        )
        self._answers = Histogram(
            "facefusion_http_request_seconds",
            "From requests to the beginning of answers.",
            ["route"],
            buckets=ANSWERS,
            registry=None,
        )

    def emit(self, event: Event) -> None:
        """Count what happened during a run."""
        match event:
            case ModelLoaded():
                self._loads.labels(self._model(event.model), self._provider(event.provider)).inc()
                self._load_seconds.inc(event.seconds)
                with self._lock:
                    self._loaded.add(event.model)
            case FrameHeld():
                self._held.inc()

    def run_done(self, report: RunReport) -> None:
        """Count what a run came to."""
        self.work_done(
            frames=report.frames - report.resumed_frames,
            faces=report.faces,
            stages=report.stages,
            models=report.models,
        )

    def work_done(self, *, frames: int, faces: int, stages: Mapping[str, float], models: Iterable[str] = ()) -> None:
        """Count what a run or a segment came to.

        Args:
            frames: worked on.
            faces: worked on, summed over frames.
            stages: seconds by stage, summed over threads.
            models: names of those that were used.
        """
        self._frames.inc(frames)
        self._faces.inc(faces)
        for stage, seconds in stages.items():
            self._stages.labels(self._stage(stage)).inc(max(seconds, 0.0))
        with self._lock:
            before = self._loaded_before - self._loaded
            self._loaded_before |= self._loaded
            self._loaded = set()
        for model in models:
            # What other workers did for a job says nothing of the models here, and code is never loaded.
            if model in before:
                self._hits.labels(self._model(model)).inc()

    def segment_done(self) -> None:
        """Count a segment that was finished."""
        self._segments.inc()

    def job_ended(self, job: JobRecord, worker: str = "") -> None:
        """Count how long a job took that was worked on and not cancelled. How it ended the queue counts.

        Args:
            job: in a state that is final.
            worker: name of the worker that finished it, one of a few; empty where none did.
        """
        if job.started is None or job.ended is None or job.state is JobState.CANCELLED:
            return
        seconds = max(job.ended - job.started, 0.0)
        self._waits.observe(max(job.started - job.created, 0.0))
        self._durations.observe(seconds)
        if worker:
            self._tell_latency(self._worker(worker), seconds)

    def _tell_latency(self, worker: str, seconds: float) -> None:
        with self._lock:
            latest = self._latest.setdefault(worker, deque(maxlen=IN_A_ROW))
            latest.append(seconds)
            self._latency.labels(worker).set(seconds)
            if len(latest) == IN_A_ROW:
                self._latency_of_three.labels(worker).set(min(latest))

    def request_answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request to the API.

        Args:
            method: of HTTP.
            route: as it was declared, such as ``/v1/jobs/{id}``; never the path that was asked for.
            status: of HTTP.
            seconds: until the answer began.
        """
        known = method if method in METHODS else "other"
        where = self._route(route)
        self._requests.labels(known, where, str(status)).inc()
        self._answers.labels(where).observe(max(seconds, 0.0))

    def called_back(self, outcome: str) -> None:
        """Count a try to call somebody at a job's end.

        Args:
            outcome: one of those of :mod:`.callbacks`.
        """
        self._calls.labels(outcome).inc()

    def watch(self, collector: Collector) -> None:
        """Have a collector tell as well what it finds whenever it is asked."""
        self.registry.register(collector)

    def exposition(self) -> tuple[bytes, str]:
        """All metrics of all processes that share the folder, and the type of that content."""
        return generate_latest(self.registry), CONTENT_TYPE


class _OfLivingProcesses(Collector):
    """What the processes of a folder counted. Gauges of those that died go; what they counted stays counted."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def collect(self) -> Iterator[Metric]:
        for path in self._folder.glob("gauge_live*.db"):
            if not _is_of_living(path):
                mark_process_dead(_pid_of(path), str(self._folder))
        yield from MultiProcessCollector(None, str(self._folder)).collect()


def _pid_of(path: Path) -> int:
    return int(path.stem.rpartition("_")[2])


def _is_of_living(path: Path) -> bool:
    """Whether the process that wrote a file is alive, and not another one that got its number."""
    try:
        process = psutil.Process(_pid_of(path))
        born = process.create_time()
        return process.status() != psutil.STATUS_ZOMBIE and born <= path.stat().st_mtime + CREATION_SLACK
    except (psutil.NoSuchProcess, FileNotFoundError):
        return False
    except psutil.AccessDenied:  # it is there, and another user's
        return True
