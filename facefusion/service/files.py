"""The files of assets and results in a folder that all machines of the fleet have mounted.

::

    <root>/assets/<id>/      an upload, and what is known of it
    <root>/results/<job>/    the result of a job
    <root>/segments/<job>/   what its workers make on the way

Ids are letters, digits, ``_`` and ``-``, so none can be a path; what is none has no file. No name that a client gave a
file gets here. Folders are of mode 0700, files of 0600.
"""

from __future__ import annotations

import contextlib
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from facefusion.service.errors import NotFoundError
from facefusion.service.kept_files import ID, KeptFiles, make_private, newest_change, remove_folder, told
from facefusion.service.records import Asset, Result

UNFINISHED_SECONDS = 2 * 60 * 60.0
"""Without a change, after which a file that nothing names was left by a process that ended."""

BLOCK = 1 << 20
"""Bytes that are read at a time."""

OVER_SECONDS = 10 * 60.0
"""After its time, when a result goes whose job nobody knows: the queue of its server ended with that."""

LEFT_SECONDS = 24 * 60 * 60.0
"""Without a change, after which nobody works on the segments of a job any more."""


class FolderStore:
    """A :class:`~facefusion.service.ports.FileStore` in a folder. Any thread, process and machine may use it.

    Every method raises ``ServiceUnavailableError`` where the folder cannot be used.

    Args:
        root: the folder; it is made where it is not there.
        clock: seconds since 1970.

    Raises:
        StorageFullError: there is no room for the folder.
        ServiceUnavailableError: it cannot be made.
    """

    def __init__(self, root: Path, clock: Callable[[], float] = time.time) -> None:
        with told():
            make_private(root.absolute())
        self._root = root
        self._assets = KeptFiles(root / "assets", Asset)
        self._results = KeptFiles(root / "results", Result)
        self._segments = root / "segments"
        self._clock = clock
        self._known: dict[str, Asset] = {}
        """Assets that were read; they never change."""
        self._lock = threading.Lock()

    def add(self, part: Path, asset: Asset) -> None:
        """Keep an upload, which is moved; its content was looked at.

        Raises:
            StorageFullError: there is no room.
        """
        self._assets.put(asset.id, part, asset)

    def asset(self, asset_id: str) -> Asset | None:
        """An asset; none where there is none, or it was erased."""
        return self._assets.about(asset_id)

    def assets(self, owner: str | None) -> Sequence[Asset]:
        """All assets, of one owner or of everybody."""
        ids = self._assets.ids()
        with self._lock:
            known = self._known
        found = {entry: asset for entry in ids if (asset := known.get(entry) or self.asset(entry)) is not None}
        with self._lock:
            self._known = found
        return [asset for asset in found.values() if owner is None or asset.owner == owner]

    def fetch(self, asset_id: str, folder: Path) -> Path:
        """Where the asset's file lies; ``folder`` is not needed.

        Raises:
            NotFoundError: it was erased.
        """
        return _there(self._assets.path(asset_id), f"there is no asset {asset_id}")

    def put_result(self, job_id: str, path: Path, result: Result) -> None:
        """Keep a job's result, which is moved. What others put there lies beside it until the job is erased.

        Raises:
            StorageFullError: there is no room.
        """
        self._results.put(job_id, path, result)

    def open_result(self, job_id: str, result: Result) -> ResultInFolder:
        """The file that a job's record tells of, to be read where it is.

        Raises:
            NotFoundError: it was erased.
        """
        fault = f"there is no result of job {job_id}"
        path = _there(self._results.content(job_id, result), fault)
        with told(), _found(fault):
            return ResultInFolder(path, path.stat().st_size)

    def erase_asset(self, asset_id: str) -> None:
        """Remove an asset's file at once. Harmless where there is none."""
        self._assets.erase(asset_id)

    def erase_job(self, job_id: str) -> None:
        """Remove a job's result and all that was made on the way. Harmless where there is none."""
        self._results.erase(job_id)
        self.erase_segments(job_id)

    def segments(self, job_id: str, folder: Path) -> FolderSegments:
        """A job's segments, in a folder that all workers see; it is made where it is not there.

        Raises:
            ValueError: the id is none.
        """
        if ID.fullmatch(job_id) is None:
            raise ValueError(f"no id: {job_id!r}")
        with told():
            return FolderSegments(make_private(self._segments / job_id))

    def erase_segments(self, job_id: str) -> None:
        """Remove what was made on the way to a job's result. Harmless where there is nothing."""
        if ID.fullmatch(job_id) is not None:
            with told():
                remove_folder(self._segments / job_id)

    def free_bytes(self) -> int | None:
        """How much more fits."""
        with told():
            return shutil.disk_usage(self._root).free

    def sweep(self) -> int:
        """Remove what nobody else will: files left unfinished, results and segments of jobs that no queue knows.

        Returns:
            How many.
        """
        removed = self._assets.sweep(UNFINISHED_SECONDS) + self._results.sweep(UNFINISHED_SECONDS)
        for job_id in self._results.ids():
            about = self._results.about(job_id)
            if about is not None and about.expires + OVER_SECONDS < self._clock():
                self.erase_job(job_id)
                removed += 1
        with told():
            for folder in self._segments.iterdir() if self._segments.is_dir() else ():
                if newest_change(folder) + LEFT_SECONDS < self._clock():
                    remove_folder(folder)
                    removed += 1
        return removed


@dataclass(frozen=True, slots=True)
class FolderSegments:
    """Segments of a job in a folder that all workers see, so that nothing has to be brought anywhere."""

    folder: Path

    def hand_in(self) -> None:
        """Nothing: they are there."""

    def bring(self) -> None:
        """Nothing: they are here."""


@dataclass(frozen=True, slots=True)
class ResultInFolder:
    """A result that lies in a folder; see :class:`~facefusion.service.ports.ResultFile`."""

    path: Path
    size: int

    def read(self, first: int, stop: int) -> Iterator[bytes]:
        """Bytes from ``first`` to before ``stop``, a block at a time.

        Raises:
            NotFoundError: it was erased meanwhile.
        """
        left = stop - first
        with told(), _found("the result is not there any more"), self.path.open("rb") as file:
            file.seek(first)
            while left > 0 and (data := file.read(min(left, BLOCK))):
                left -= len(data)
                yield data


def gone(fault: str) -> NotFoundError:
    """What to say of a file that is not there."""
    return NotFoundError(fault, "It may have been erased, or its time is over.")


@contextlib.contextmanager
def _found(fault: str) -> Iterator[None]:
    """Say that a file is not there, where it went between two looks."""
    try:
        yield
    except FileNotFoundError as error:
        raise gone(fault) from error


def _there(path: Path | None, fault: str) -> Path:
    if path is None or not path.is_file():
        raise gone(fault)
    return path
