"""The folder in which runs make their work folders."""

from __future__ import annotations

import contextlib
import getpass
import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import filelock
import psutil

from facefusion.core.errors import OutputError, ResourceError
from facefusion.core.storage import check_writable, refusal

REMEDY = "Choose another folder with --temp-path."

ROOT_NAME = "facefusion"
ROOT_LOCK = ".lock"

LOCK_SECONDS = 60.0
"""Longer than any run holds the root's lock, but for one that hangs."""

IN_MEMORY = ("tmpfs", "ramfs")
NO_MEMORY = Path("/var/tmp")
"""By convention the place for temporary files that are large."""


def work_root(temp_path: Path | None) -> Path:
    """The folder in which work folders are made; it is made where it is not there.

    ``temp_path/facefusion`` where the user names a folder. Else ``facefusion-<user>`` in the system's folder for
    temporary files; where that lies in memory, and nobody asked for it, in ``/var/tmp``.

    Raises:
        OutputError: it cannot be made or written to, or belongs to someone else.
        ResourceError: the disk is full.
    """
    root = _system_temp() / f"{ROOT_NAME}-{_user()}" if temp_path is None else temp_path / ROOT_NAME
    try:
        if temp_path is not None:
            temp_path.mkdir(exist_ok=True)
        root.mkdir(mode=0o700, exist_ok=True)
        status = root.lstat() if temp_path is None else root.stat()
    except OSError as error:
        raise refusal(error, root, REMEDY) from error
    if not stat.S_ISDIR(status.st_mode):
        raise OutputError(f"{root} is no folder", REMEDY)
    if temp_path is None and hasattr(os, "geteuid") and status.st_uid != os.geteuid():
        raise OutputError(f"{root} belongs to another user", REMEDY)
    check_writable(root, REMEDY)
    return root


@contextlib.contextmanager
def alone(root: Path) -> Iterator[None]:
    """While folders in ``root`` are made, taken over or removed, nobody else does so. An empty root is removed.

    Raises:
        OSError: the root cannot be written to, or cannot be locked.
        ResourceError: another process does not let go.
    """
    lock = _enter(root)
    try:
        yield
    finally:
        # Whoever waits for the lock sees that it was removed, and makes the root again. Windows keeps it.
        with contextlib.suppress(OSError):
            if all(path.name == ROOT_LOCK for path in root.iterdir()):
                (root / ROOT_LOCK).unlink()
                root.rmdir()
        lock.release()


def _enter(root: Path) -> filelock.BaseFileLock:
    while True:
        root.mkdir(mode=0o700, exist_ok=True)
        lock = lock_on(root / ROOT_LOCK)
        try:
            lock.acquire(timeout=LOCK_SECONDS)
        except filelock.Timeout as error:
            raise ResourceError(
                f"{root / ROOT_LOCK} is held by another process that does not go on", f"End that process. {REMEDY}"
            ) from error
        except FileNotFoundError:
            continue  # another run has just removed the root
        return lock


def lock_on(path: Path) -> filelock.BaseFileLock:
    """A lock of the system, which ends with the process that holds it, however it ends."""
    return filelock.FileLock(path, thread_local=False)


def _user() -> str:
    if hasattr(os, "geteuid"):
        return str(os.geteuid())
    return hashlib.sha256(getpass.getuser().encode()).hexdigest()[:8]


def _system_temp() -> Path:
    try:
        folder = Path(tempfile.gettempdir())
    except FileNotFoundError as error:
        raise OutputError("the system has no folder for temporary files that can be written to", REMEDY) from error
    asked = any(os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP"))
    if asked or not _lies_in_memory(folder) or not os.access(NO_MEMORY, os.W_OK) or _lies_in_memory(NO_MEMORY):
        return folder
    return NO_MEMORY


def _lies_in_memory(folder: Path) -> bool:
    kinds = {Path(mount.mountpoint): mount.fstype for mount in psutil.disk_partitions(all=True)}
    real = folder.resolve()
    return next((kinds[place] in IN_MEMORY for place in (real, *real.parents) if place in kinds), False)
