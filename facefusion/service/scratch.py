"""A folder for what one job makes on its way, beside the program's other temporary files.

A run keeps what it finished for the same command to go on from. No job is ever that command again, and its frames are
somebody's face: so all of it goes when the work on the job ends, however it ends. What a process that was killed left
goes with the next folder that is made on the machine.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import filelock

from facefusion.config.settings import PathsSettings
from facefusion.config.state import Snapshot
from facefusion.core.errors import ResourceError
from facefusion.core.storage import refusal
from facefusion.pipeline.work_root import REMEDY, alone, lock_on, work_root

PREFIX = "job-"
LOCK = "lock"


@contextlib.contextmanager
def scratch(root: Path) -> Iterator[Path]:
    """A folder of one's own in ``root``, which is made where it is not there and goes where nothing else is in it.

    Raises:
        OutputError: the folder cannot be made.
        ResourceError: the disk is full.
    """
    try:
        with alone(root):
            _sweep(root)
            folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=root))
            lock = lock_on(folder / LOCK)
            lock.acquire(timeout=0)
    except OSError as error:
        raise refusal(error, root, REMEDY) from error
    try:
        yield folder
    finally:
        with contextlib.suppress(OSError, ResourceError), alone(root):
            shutil.rmtree(folder, ignore_errors=True)
        lock.release()


def sweep_scratch(roots: Iterable[Path]) -> None:
    """Remove what processes that were killed left in folders, as far as they are there."""
    for root in roots:
        if root.is_dir():
            with contextlib.suppress(OSError, ResourceError), alone(root):
                _sweep(root)


@contextlib.contextmanager
def temporary_files_of(snapshot: Snapshot) -> Iterator[Snapshot]:
    """The settings, with a folder of its own for the temporary files of whoever runs with them.

    Raises:
        OutputError: the folder cannot be made.
        ResourceError: the disk is full.
    """
    with scratch(work_root(snapshot.get(PathsSettings).temp_path)) as folder:
        yield snapshot.with_values({"temp_path": folder}, snapshot.origin("temp_path"))


def _sweep(root: Path) -> None:
    """Remove the folders that no process holds; only while alone."""
    for folder in root.glob(f"{PREFIX}*"):
        lock = lock_on(folder / LOCK)
        try:
            lock.acquire(timeout=0)
        except (filelock.Timeout, OSError):
            continue
        lock.release()
        shutil.rmtree(folder, ignore_errors=True)
