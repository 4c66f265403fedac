"""The files of a jobs folder: which there are, and each of them whole.

Who writes must be alone with the folder: see :mod:`facefusion.jobs.locks`.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from facefusion.core.errors import JobError
from facefusion.core.storage import refusal, write_whole
from facefusion.jobs.ids import file_stems
from facefusion.jobs.job_file import EXTENSION, StepTexts, decode, encode
from facefusion.jobs.model import Job, JobStatus

REMEDY = "Choose another folder with --jobs-path."
LOCKS_FOLDER = ".locks"
"""Name of the folder of locks, beside those of jobs."""


def keeps(root: Path, path: Path) -> bool:
    """Whether a file would lie among the jobs of a folder, or among their locks."""
    parent = os.path.realpath(path.parent)
    return any(parent == os.path.realpath(root / name) for name in (*(one.value for one in JobStatus), LOCKS_FOLDER))


@dataclass(frozen=True, slots=True)
class Place:
    """Where a job's file lies."""

    id: str
    """Of the job; the file's name without extension."""
    status: JobStatus


class JobFolder:
    """The files below one root.

    Args:
        root: holds a folder for each status. Need not be there as long as nothing is written.

    Methods that write raise an OutputError or a ResourceError where the system refuses.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._last: tuple[Path, tuple[int, ...], Job] | None = None
        """The file read or written last, by what tells that it is still the same, and the job in it."""
        self._texts = StepTexts()

    def make(self) -> None:
        """Make the folders that are not there."""
        with refusals(self._root):
            for status in JobStatus:
                (self._root / status.value).mkdir(parents=True, exist_ok=True)

    def locate(self, job_id: str) -> tuple[Place, ...]:
        """Where the file of a job lies, if there is one; also where FaceFusion made another id of its id.

        Several, where somebody put copies of it into the folders of other statuses.
        """
        for stem in file_stems(job_id):
            places = tuple(Place(stem, status) for status in JobStatus)
            found = tuple(place for place in places if _is_file(self.path(place)))
            if found:
                return found
        return ()

    def places(self, status: JobStatus) -> tuple[Place, ...]:
        """Every file in the folder of a status, by name; no pipes and the like, which may never end.

        Raises:
            JobError: the folder cannot be read.
        """
        folder = self._root / status.value
        try:
            with os.scandir(folder) as entries:
                paths = sorted(Path(entry) for entry in entries if entry.is_file())
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise JobError(f"the jobs folder {folder} cannot be read: {error.strerror}", REMEDY) from error
        return tuple(Place(path.stem, status) for path in paths if path.suffix == EXTENSION and path.name[0] != ".")

    def read(self, place: Place) -> Job | None:
        """The job in a file; none where there is no such file, or no longer.

        Raises:
            JobError: it cannot be read.
        """
        path = self.path(place)
        try:
            signature = _signature(path)
            if self._last is not None and self._last[:2] == (path, signature):
                return self._last[2]
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise JobError(
                f"the job file {path} cannot be read: {error.strerror}", "See to it, or remove it."
            ) from error
        job = decode(data, path, place.status)
        self._last = (path, signature, job)
        return job

    def write(self, job: Job) -> None:
        """Write a job's file in the folder of its status."""
        path = self.path(Place(job.id, job.status))
        with refusals(path):
            write_whole(path, encode(job, self._texts))
            self._last = (path, _signature(path), job)

    def move(self, job: Job, status: JobStatus) -> Job:
        """Put a job's file into the folder of another status, and return the job as it is then.

        Raises:
            JobError: another file is there.
        """
        path = self.path(Place(job.id, status))
        if _is_file(path):
            raise JobError(
                f"the job {job.name} cannot be {status.value}: {path} is there already", "Remove one of them."
            )
        with refusals(path):
            self.path(Place(job.id, job.status)).replace(path)
        return replace(job, status=status)

    def remove(self, place: Place) -> None:
        """Remove a job's file."""
        path = self.path(place)
        with refusals(path):
            path.unlink()
        with contextlib.suppress(OSError):  # of a name that is too long there is none
            path.with_name(f"{path.name}.part").unlink(missing_ok=True)

    def path(self, place: Place) -> Path:
        """Where a file is, or would be."""
        return self._root / place.status.value / f"{place.id}{EXTENSION}"


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return False
        raise JobError(f"the jobs folder {path.parent} cannot be read: {error.strerror}", REMEDY) from error


def _signature(path: Path) -> tuple[int, ...]:
    """What changes with the content of a file; every write of ours makes another file."""
    status = path.stat()
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


@contextlib.contextmanager
def refusals(path: Path) -> Iterator[None]:
    """Name the file or folder on which the system refuses, and what to do."""
    try:
        yield
    except OSError as error:
        raise refusal(error, path, REMEDY) from error
