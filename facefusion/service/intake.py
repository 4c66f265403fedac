"""Files that are on this machine, as jobs of the fleet, and the results back here."""

from __future__ import annotations

import contextlib
import secrets
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from facefusion.config.state import Snapshot
from facefusion.core.access import looking
from facefusion.core.errors import InputError
from facefusion.core.stop import StopToken
from facefusion.core.storage import refusal
from facefusion.media.output import move_into_place, part_path
from facefusion.observability.events import EventSink, StageFinished, StageProgress, StageStarted
from facefusion.service.auth import OPERATOR
from facefusion.service.celery_messages import open_queue
from facefusion.service.errors import QueueFullError
from facefusion.service.kept_files import make_private
from facefusion.service.look import look
from facefusion.service.ports import FileStore, JobQueue
from facefusion.service.records import JobRecord, JobState, Priority, Result
from facefusion.service.settings import ServiceSettings
from facefusion.service.steps import StepRules
from facefusion.service.storage import open_files
from facefusion.service.uploads import UploadLimits, Uploads

PARTS_FOLDER = "uploads"
"""In the storage, of files on their way; the API's too."""
COPIED_BYTES = 1 << 20
LOOK_SECONDS = 0.5
"""Between two looks at jobs that are waited for."""


@dataclass(frozen=True, slots=True)
class Order:
    """A result to be made."""

    sources: tuple[Path, ...]
    target: Path
    output: Path


@dataclass(frozen=True, slots=True)
class Submitted:
    """An order that the fleet has."""

    order: Order
    job_id: str


class Intake:
    """Sends orders to the fleet. A file that many orders name is taken in once.

    Args:
        queue: of the fleet.
        files: of the fleet.
        uploads: takes files in.
        owner: whose the jobs are.
        step: what is to be done, see :meth:`~facefusion.service.steps.StepRules.frozen`.
        priority: of the jobs.
        most_waiting: jobs that may wait at all.
    """

    def __init__(
        self,
        queue: JobQueue,
        files: FileStore,
        uploads: Uploads,
        *,
        owner: str,
        step: Mapping[str, object],
        priority: Priority,
        most_waiting: int,
    ) -> None:
        self._queue = queue
        self._files = files
        self._uploads = uploads
        self._owner = owner
        self._step = step
        self._priority = priority
        self._most_waiting = most_waiting
        self._taken: dict[Path, str] = {}

    def submit(self, order: Order, stop: StopToken) -> Submitted:
        """Send one order; where as many jobs wait as may, once there is room.

        Raises:
            FaceFusionError: a file cannot be taken in, or the fleet not be reached.
            Stopped: ``stop`` was requested.
        """
        job = JobRecord(
            id=secrets.token_hex(16),
            owner=self._owner,
            state=JobState.QUEUED,
            priority=self._priority,
            step=self._step,
            sources=tuple(self._take_in(path, stop) for path in order.sources),
            target=self._take_in(order.target, stop),
            extension=order.output.suffix.lower(),
            created=time.time(),
        )
        while True:
            try:
                self._queue.submit(job, idempotency_key=None, most_waiting=self._most_waiting)
                break
            except QueueFullError:
                stop.sleep(LOOK_SECONDS)
        return Submitted(order, job.id)

    def ended(
        self, submitted: Iterable[Submitted], events: EventSink, stop: StopToken
    ) -> Iterator[tuple[Submitted, JobRecord | None]]:
        """Jobs as they come to their end, each with its record, or none where it was erased meanwhile.

        Raises:
            ServiceUnavailableError: the fleet cannot be reached.
            Stopped: ``stop`` was requested.
        """
        left = {each.job_id: each for each in submitted}
        events.emit(StageStarted("fleet", len(left), "job"))
        while left:
            for job_id, each in list(left.items()):
                stop.check()
                job = self._queue.find(job_id)
                if job is None or job.state.is_final:
                    del left[job_id]
                    events.emit(StageProgress())
                    yield each, job
            if left:
                stop.sleep(LOOK_SECONDS)
        events.emit(StageFinished(complete=True))

    def deliver(self, submitted: Submitted, made: Result) -> None:
        """Put a result to where it was ordered.

        Args:
            submitted: the order.
            made: what the job's record tells of its result.

        Raises:
            FaceFusionError: it is gone, or cannot be written there.
        """
        output = submitted.order.output
        part = part_path(output)
        with contextlib.ExitStack() as stack:
            stack.callback(part.unlink, missing_ok=True)
            result = self._files.open_result(submitted.job_id, made)
            try:
                with part.open("wb") as file:
                    file.writelines(result.read(0, result.size))
            except OSError as error:
                raise refusal(error, output, "Choose another --output-pattern.") from error
            move_into_place(part, output)

    def _take_in(self, path: Path, stop: StopToken) -> str:
        if path not in self._taken:
            with looking(InputError, f"file {path}", "Check its path."):
                size = path.stat().st_size
                with (
                    contextlib.closing(self._uploads.begin(self._owner, size)) as upload,
                    path.open("rb") as file,
                ):
                    while data := file.read(COPIED_BYTES):
                        stop.check()
                        upload.write(data)
                    self._taken[path] = upload.keep().id
        return self._taken[path]


def open_intake(url: str, snapshot: Snapshot, priority: Priority, environment: Mapping[str, str]) -> Intake:
    """What sends orders to the fleet, for whoever gets to its storage. Quotas of users do not hold for them.

    Args:
        url: of Redis.
        snapshot: the settings in force; those of a step are what is asked for.
        priority: of the jobs.
        environment: of the process, where the keys of an object storage are.

    Raises:
        StorageFullError: there is no room in the storage.
        ServiceUnavailableError: the storage or the queue cannot be used.
    """
    settings = snapshot.get(ServiceSettings)
    files = open_files(settings, environment)
    parts = make_private(settings.storage_path.absolute() / PARTS_FOLDER)
    limits = replace(UploadLimits.of(settings), upload=sys.maxsize, subject=sys.maxsize, files=sys.maxsize)
    return Intake(
        open_queue(url),
        files,
        Uploads(files, parts, limits, look),
        owner=OPERATOR,
        step=StepRules(snapshot).frozen({}),
        priority=priority,
        most_waiting=settings.waiting_jobs_limit,
    )
