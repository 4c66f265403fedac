"""Who may change the job files now, and who runs which job.

Both are locks of the system, which end with the process that holds them, however it ends. Their files lie in
``.locks`` of the jobs folder. Those of jobs are made, looked at and removed only by who holds the folder's lock; so
one can be removed without another process waiting for it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import filelock

from facefusion.core.errors import ResourceError, Stopped
from facefusion.core.stop import POLL_SECONDS, StopToken

FOLDER_SECONDS = 60.0
"""Longer than any change of a job takes, but for a process that hangs."""

GRACE_SECONDS = 1.0
"""How long a stop waits for the folder, in all: a job that is done is to be put where it belongs."""

REMEDY = "End the process that hangs, or choose another folder with --jobs-path."


class JobLocks:
    """The locks of one jobs folder.

    Args:
        folder: where their files lie. It must be there before a lock is asked for.
        stop: ends the wait for the folder.
    """

    def __init__(self, folder: Path, stop: StopToken) -> None:
        self._folder = folder
        self._stop = stop
        self._last_moment: float | None = None
        """Until when a stop waits for the folder, once one has met a wait."""

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """While this is open, no other process changes a job file. Keep it short.

        Raises:
            ResourceError: another process does not let go.
            Stopped: a stop was requested, and another process still does not let go a moment later.
            OSError: the file system has no locks, or does not let us write.
        """
        path = self._folder / ".folder.lock"  # no id begins with a dot
        lock = _lock_on(path)
        end = time.monotonic() + FOLDER_SECONDS
        while not self._acquired(lock):
            if time.monotonic() > end:
                raise ResourceError(f"{path} is held by another process that does not go on", REMEDY)
            self._check_stop()
        try:
            yield
        finally:
            lock.release()

    @staticmethod
    def _acquired(lock: filelock.BaseFileLock) -> bool:
        """Take a lock as soon as it is free, or give up after a moment."""
        try:
            lock.acquire(timeout=POLL_SECONDS)
        except filelock.Timeout:
            return False
        return True

    def _check_stop(self) -> None:
        if not self._stop.requested:
            return
        if self._last_moment is None:
            self._last_moment = time.monotonic() + GRACE_SECONDS
        if time.monotonic() > self._last_moment:
            raise Stopped(self._stop.reason)

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
