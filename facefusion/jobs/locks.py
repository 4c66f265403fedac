"""Who may change the job files now, and who runs which job.

Both are locks of the system, which end with the process that holds them, however it ends. Their files lie in
``.locks`` of the jobs folder. Those of jobs are made, looked at and removed only by who holds the folder's lock; so
one can be removed without another process waiting for it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import filelock

from facefusion.core.errors import ResourceError

FOLDER_SECONDS = 60.0
"""Longer than any change of a job takes, but for a process that hangs."""

REMEDY = "End the process that hangs, or choose another folder with --jobs-path."


class JobLocks:
    """The locks of one jobs folder.

    Args:
        folder: where their files lie. It must be there before a lock is asked for.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """While this is open, no other process changes a job file. Keep it short.

        Raises:
            ResourceError: another process does not let go.
            OSError: the file system has no locks, or does not let us write.
        """
        path = self._folder / ".folder.lock"  # no id begins with a dot
        lock = _lock_on(path)
        try:
            lock.acquire(timeout=FOLDER_SECONDS)
        except filelock.Timeout as error:
            raise ResourceError(f"{path} is held by another process that does not go on", REMEDY) from error
        try:
            yield
        finally:
            lock.release()

    def take(self, stem: str) -> filelock.BaseFileLock | None:
        """Take the lock of one job; none where another process, or another part of this one, has it.

        Raises:
            OSError: the file system has no locks, or does not let us write.
        """
        lock = _lock_on(self._path(stem))
        try:
            lock.acquire(blocking=False)
        except filelock.Timeout:
            return None
        return lock

    def give_back(self, stem: str, lock: filelock.BaseFileLock) -> None:
        """Let go of a job's lock and remove its file."""
        lock.release()
        self.forget(stem)

    def forget(self, stem: str) -> None:
        """Remove the file of a job's lock that nobody holds."""
        with contextlib.suppress(OSError):  # a file that stays does no harm
            self._path(stem).unlink(missing_ok=True)

    def is_held(self, stem: str) -> bool:
        """Whether a process runs the job."""
        if not self._path(stem).exists():
            return False
        lock = self.take(stem)
        if lock is None:
            return True
        lock.release()
        return False

    def _path(self, stem: str) -> Path:
        return self._folder / f"{stem}.lock"


def _lock_on(path: Path) -> filelock.BaseFileLock:
    # Not a file that marks the lock where the system has none: that would outlive a process that is killed.
    return filelock.FileLock(path, thread_local=False, fallback_to_soft=False)
