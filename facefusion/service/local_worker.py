"""Does the jobs of a :class:`facefusion.service.memory_queue.MemoryQueue` in this process, one after the other."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Protocol

from facefusion.config.settings import PathsSettings
from facefusion.config.state import Snapshot
from facefusion.core.errors import ContentRefusedError, FaceFusionError, Stopped
from facefusion.core.report import RunReport
from facefusion.core.stop import POLL_SECONDS, StopToken
from facefusion.core.ticker import Ticker
from facefusion.observability.events import Event, EventSink, Fanout, StageProgress, StageStarted
from facefusion.pipeline.work_root import work_root
from facefusion.service.discretion import folders_of
from facefusion.service.endings import fault_of, result_of
from facefusion.service.engine_rendering import document_of
from facefusion.service.logs import working_on_job
from facefusion.service.memory_queue import MemoryQueue
from facefusion.service.ports import FileStore
from facefusion.service.records import Fault, JobRecord, JobState, Progress, Result
from facefusion.service.rendering import JobFiles
from facefusion.service.scratch import scratch, sweep_scratch, temporary_files_of
from facefusion.service.steps import step_snapshot
from facefusion.service.uploads import HOUR

logger = logging.getLogger(__name__)

WAIT_SECONDS = 0.2
"""How long the queue is waited for before looking whether to end."""
TELL_SECONDS = 0.25
"""Between two notes of how far a job is."""
WORKER = "local"
"""What this one is called where things are counted."""


class Executor(Protocol):
    """Does a step. :class:`facefusion.app.engine.Engine` is it."""

    def execute(self, snapshot: Snapshot, events: EventSink, stop: StopToken) -> RunReport:
        """As the engine has it."""


class Counts(EventSink, Protocol):
    """Counts what is done. :class:`facefusion.service.instruments.Metrics` does."""

    def run_done(self, report: RunReport) -> None:
        """What a run came to."""

    def job_ended(self, job: JobRecord, worker: str = "") -> None:
        """A job has ended, done by one of a few workers."""


class Uncounted:
    """Counts nothing."""

    def emit(self, event: Event) -> None:
        """Pass over it."""

    def run_done(self, report: RunReport) -> None:
        """Likewise."""

    def job_ended(self, job: JobRecord, worker: str = "") -> None:
        """Likewise."""


class LocalWorker:
    """A thread that does jobs.

    Args:
        queue: to take them from.
        files: of assets and results.
        executor: does a step, one at a time.
        base: how this machine does it.
        folder: for what is made on the way.
        hours: that results are kept.
        counts: are told what is done.
        clock: seconds since 1970.
    """

    def __init__(
        self,
        queue: MemoryQueue,
        files: FileStore,
        executor: Executor,
        base: Snapshot,
        folder: Path,
        hours: float,
        counts: Counts | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._queue = queue
        self._files = files
        self._executor = executor
        self._base = base
        self._private = folders_of(base)
        self._folder = folder
        self._seconds = hours * HOUR
        self._counts = counts or Uncounted()
        self._clock = clock
        self._ending = threading.Event()
        self._stop = StopToken()
        self._thread = threading.Thread(target=self._work, name="jobs")

    def start(self) -> None:
        """Begin to do jobs. What an earlier process was killed over goes first: it knew a face."""
        sweep_scratch((self._folder, work_root(self._base.get(PathsSettings).temp_path)))
        self._thread.start()

    def close(self) -> None:
        """Stop the job in work, which has failed then, and end."""
        self._ending.set()
        self._stop.request("the end of the service")
        self._thread.join()

    def do(self, job: JobRecord) -> None:
        """Do one job that was taken from the queue, and note how it ended."""
        self._stop = stop = StopToken()
        if self._ending.is_set():
            stop.request("the end of the service")
        listening = Ticker(POLL_SECONDS, lambda: self._pass_on(job.id, stop), f"cancelling of {job.id}")
        with working_on_job(job.id), closing(listening):
            listening.start()
            self._do(job, stop)
        if (ended := self._queue.find(job.id)) is not None:
            self._counts.job_ended(ended, WORKER)

    def _do(self, job: JobRecord, stop: StopToken) -> None:
        files: JobFiles | None = None
        try:
            with scratch(self._folder) as folder:
                files = self._fetch(job, folder)
                result, report = self._make(job, files, stop)
        except Stopped:
            self._end_stopped(job.id)
        except Exception as error:
            if not isinstance(error, FaceFusionError):
                logger.error("a job failed unexpectedly", exc_info=error)
            state = JobState.REJECTED if isinstance(error, ContentRefusedError) else JobState.FAILED
            self._queue.finish(job.id, state, fault=fault_of(error, files, "service", self._private))
        else:
            self._queue.finish(job.id, JobState.COMPLETED, result=result, report=report)

    def _pass_on(self, job_id: str, stop: StopToken) -> None:
        if self._queue.is_cancelled(job_id):
            stop.request("its owner, who cancelled it")

    def _work(self) -> None:
        while not self._ending.is_set():
            if (job := self._queue.take(WAIT_SECONDS)) is not None:
                self.do(job)

    def _fetch(self, job: JobRecord, folder: Path) -> JobFiles:
        """Have the job's files here.

        Raises:
            NotFoundError: one was erased.
        """
        paths: list[Path] = []
        for number, asset in enumerate((job.target, *job.sources)):
            own = folder / str(number)
            own.mkdir()
            paths.append(self._files.fetch(asset, own))
        target, *sources = paths
        return JobFiles(tuple(sources), target, folder, folder / f"result{job.extension}", self._private)

    def _make(self, job: JobRecord, files: JobFiles, stop: StopToken) -> tuple[Result, dict[str, object]]:
        snapshot = step_snapshot(self._base, job.step, files.target, files.sources, files.output)
        events = Fanout((_Watch(self._queue, job.id), self._counts))
        with temporary_files_of(snapshot) as own:
            report = self._executor.execute(own, events, stop)
        self._counts.run_done(report)
        stop.check()
        result = result_of(job, files, self._clock() + self._seconds)
        self._files.put_result(job.id, files.output, result)
        return result, document_of(report, files)

    def _end_stopped(self, job_id: str) -> None:
        if self._queue.is_cancelled(job_id):
            self._queue.finish(job_id, JobState.CANCELLED)
            return
        fault = Fault("the service ended before the job was done", "Queue it again.", Stopped.__name__)
        self._queue.finish(job_id, JobState.FAILED, fault=fault)


class _Watch:
    """Notes how far a job is."""

    def __init__(self, queue: MemoryQueue, job_id: str) -> None:
        self._queue = queue
        self._job = job_id
        self._lock = threading.Lock()
        self._begun = self._told = time.monotonic()
        self._counts = False
        self._done, self._new = 0, 0
        self._total: int | None = None

    def emit(self, event: Event) -> None:
        """Take one event."""
        with self._lock:
            if isinstance(event, StageStarted):
                self._counts = event.unit == "frame"
                self._begun, self._done, self._new, self._total = time.monotonic(), 0, 0, event.total
            elif isinstance(event, StageProgress) and self._counts:
                self._done += event.amount
                self._new += 0 if event.earlier else event.amount
            else:
                return
            if self._counts:
                self._tell()

    def _tell(self) -> None:
        now = time.monotonic()
        if now - self._told < TELL_SECONDS and self._done != self._total:
            return
        self._told = now
        rate = self._new / max(now - self._begun, TELL_SECONDS)
        self._queue.advance(self._job, Progress(done=self._done, total=self._total, rate=rate))
