"""What the parts of the service ask of each other. The API knows no Redis and no Celery, and workers know no HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from facefusion.service.ledger import Ledger
from facefusion.service.outbox import Outbox
from facefusion.service.records import Asset, JobEvent, JobRecord, JobState, Priority, Result


class JobQueue(Protocol):
    """Jobs and their order. Every method may be called from any thread and any process.

    Raises:
        ServiceUnavailableError: from any method, where what keeps the jobs cannot be reached.
    """

    ledger: Ledger
    """Of uploads on their way, where whoever shares the jobs sees it."""

    outbox: Outbox
    """Of calls that are to be made for jobs that are at their end."""

    def submit(self, job: JobRecord, *, idempotency_key: str | None, most_waiting: int) -> JobRecord:
        """Queue a job.

        Args:
            job: as it is to be kept, in the state ``QUEUED``.
            idempotency_key: of the client; a second job of the same owner under one key is the first one.
            most_waiting: jobs that may wait at all.

        Returns:
            The job, or the one that was queued under the key before.

        Raises:
            QueueFullError: as many wait already.
            ConflictError: the key was used for a job of other content.
        """

    def find(self, job_id: str) -> JobRecord | None:
        """A job; none where there is none, or it was erased."""

    def list(self, owner: str | None, *, limit: int, before: str | None) -> Sequence[JobRecord]:
        """Jobs, the newest first.

        Args:
            owner: whose; of everybody where none.
            limit: most of them.
            before: id of a job; only older ones are listed.

        Raises:
            NotFoundError: that job is not there any more.
        """

    def cancel(self, job_id: str) -> JobRecord | None:
        """Ask for a job not to go on; what is final stays as it is. None where there is no such job."""

    def erase(self, job_id: str) -> None:
        """Forget a job that is final. Harmless where there is none."""

    def events(self, job_id: str, after: str | None) -> AsyncIterator[JobEvent]:
        """Changes of a job from now on, or from behind the event ``after``; ends with the one that is final."""

    def waiting(self) -> Mapping[Priority, int]:
        """How many jobs wait, by priority."""

    def oldest_waiting(self) -> float | None:
        """When the job that waits longest was submitted; none where none waits."""

    def workers(self) -> int:
        """How many workers were seen of late."""

    def ended(self) -> Mapping[JobState, int]:
        """How many jobs came to which end since there is the queue, those that were erased among them."""

    def retries(self) -> int:
        """How many segments were begun again since then."""

    def kept_bytes(self, owner: str) -> int:
        """Bytes of the results of an owner's jobs, as long as these are known."""

    def uses(self, asset_id: str) -> bool:
        """Whether a job that is not final uses an asset."""


class Segments(Protocol):
    """What workers make on the way to one job's result. Names of files hold the token of who wrote them."""

    @property
    def folder(self) -> Path:
        """Where they are written and read on this machine."""

    def hand_in(self) -> None:
        """Have what was written in the folder where all workers see it, before it is committed."""

    def bring(self) -> None:
        """Have in the folder what all workers handed in. What was committed and is gone is found out by its reader."""


class ResultFile(Protocol):
    """A result, to be read where it is."""

    @property
    def size(self) -> int:
        """Bytes."""

    def read(self, first: int, stop: int) -> Iterator[bytes]:
        """Bytes from ``first`` to before ``stop``, both within it, a block at a time.

        Raises:
            NotFoundError: it was erased meanwhile.
        """


class FileStore(Protocol):
    """The files of assets and results, on storage that all machines of the fleet share."""

    def add(self, part: Path, asset: Asset) -> None:
        """Keep an upload, which is moved; its content was looked at."""

    def asset(self, asset_id: str) -> Asset | None:
        """An asset; none where there is none, or it was erased."""

    def assets(self, owner: str | None) -> Sequence[Asset]:
        """All assets, of one owner or of everybody."""

    def fetch(self, asset_id: str, folder: Path) -> Path:
        """The asset's file, for this machine to read: where it lies, or a copy in ``folder``.

        Raises:
            NotFoundError: it was erased.
        """

    def put_result(self, job_id: str, path: Path, result: Result) -> None:
        """Keep a job's result, which is moved. What others put there lies beside it until the job is erased."""

    def open_result(self, job_id: str, result: Result) -> ResultFile:
        """A job's result, to be read where it is.

        Args:
            job_id: of the job.
            result: what its record tells of it. That very file is opened, whatever a holder put there too late.

        Raises:
            NotFoundError: it was erased.
        """

    def erase_asset(self, asset_id: str) -> None:
        """Remove an asset's file at once. Harmless where there is none."""

    def erase_job(self, job_id: str) -> None:
        """Remove a job's result and all that was made on the way. Harmless where there is none."""

    def segments(self, job_id: str, folder: Path) -> Segments:
        """A job's segments, for the holder of one of its units.

        Args:
            job_id: of the job.
            folder: of that holder, for this unit; they lie in it where the storage is none that this machine writes to.
        """

    def erase_segments(self, job_id: str) -> None:
        """Remove what was made on the way to a job's result. Harmless where there is nothing."""

    def sweep(self) -> int:
        """Remove what nobody else will: what processes that ended left behind, and what belongs to forgotten jobs.

        Returns:
            How many files and jobs.
        """

    def free_bytes(self) -> int | None:
        """How much more fits; none where that has no limit that is known."""
