"""The files of assets and results in a bucket of S3-compatible storage.

::

    assets/<id>/      an upload, and what is known of it
    results/<job>/    the result of a job
    segments/<job>/   what its workers make on the way

Ids are letters, digits, ``_`` and ``-``, so each is one part of a key; what is none has no object.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from facefusion.service.asset_copies import AssetCopies
from facefusion.service.bucket import Bucket
from facefusion.service.files import LEFT_SECONDS, OVER_SECONDS, UNFINISHED_SECONDS, gone
from facefusion.service.kept_files import ID, make_private, told
from facefusion.service.kept_objects import Kept, KeptObjects
from facefusion.service.records import Asset, Result

ASSETS, RESULTS, SEGMENTS = "assets", "results", "segments"


class ObjectStore:
    """A :class:`~facefusion.service.ports.FileStore` in a bucket. Any thread, process and machine may use it.

    Every method raises ``ServiceUnavailableError`` where the storage cannot be used.

    Args:
        bucket: where the files are.
        copies: of assets on this machine; none where each is fetched once only.
        clock: seconds since 1970.
    """

    def __init__(
        self, bucket: Bucket, copies: AssetCopies | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self._bucket = bucket
        self._copies = copies
        self._clock = clock
        self._assets = KeptObjects(bucket, ASSETS, Asset)
        self._results = KeptObjects(bucket, RESULTS, Result)
        self._known: dict[str, Asset] = {}
        """Assets that were read; they never change."""
        self._lock = threading.Lock()

    def add(self, part: Path, asset: Asset) -> None:
        """Keep an upload, which is moved; its content was looked at."""
        self._assets.put(asset.id, part, asset)

    def asset(self, asset_id: str) -> Asset | None:
        """An asset; none where there is none, or it was erased."""
        kept = self._assets.find(asset_id)
        return None if kept is None else kept.about

    def assets(self, owner: str | None) -> Sequence[Asset]:
        """All assets, of one owner or of everybody."""
        ids = self._assets.ids()
        with self._lock:
            known = self._known
        new = self._assets.find_all(entry for entry in ids if entry not in known)
        found = {entry: known[entry] for entry in ids if entry in known}
        found |= {entry: kept.about for entry, kept in new if kept is not None}
        with self._lock:
            self._known = found
        return [asset for asset in found.values() if owner is None or asset.owner == owner]

    def fetch(self, asset_id: str, folder: Path) -> Path:
        """A copy of the asset's file in ``folder``.

        Raises:
            NotFoundError: it was erased.
            StorageFullError: this machine has no room for it.
        """
        kept = self._assets.find(asset_id)
        if kept is None:
            raise gone(f"there is no asset {asset_id}")
        path = folder / f"{asset_id}{kept.extension}"
        if self._copies is None:
            self._fetch(kept, path)
        else:
            self._copies.get(asset_id, kept.size, path, lambda copy: self._fetch(kept, copy))
        return path

    def put_result(self, job_id: str, path: Path, result: Result) -> None:
        """Keep a job's result, which is moved. What others put there lies beside it until the job is erased."""
        self._results.put(job_id, path, result)

    def open_result(self, job_id: str, result: Result) -> ResultObject:
        """The file that a job's record tells of, to be read where it is.

        Raises:
            NotFoundError: it was erased.
        """
        kept = self._results.content(job_id, result)
        if kept is None:
            raise gone(f"there is no result of job {job_id}")
        return ResultObject(self._bucket, kept)

    def erase_asset(self, asset_id: str) -> None:
        """Remove an asset's file at once. Harmless where there is none."""
        self._assets.erase(asset_id)
        with self._lock:
            self._known = {entry: asset for entry, asset in self._known.items() if entry != asset_id}

    def erase_job(self, job_id: str) -> None:
        """Remove a job's result and all that was made on the way. Harmless where there is none."""
        self._results.erase(job_id)
        self.erase_segments(job_id)

    def segments(self, job_id: str, folder: Path) -> ObjectSegments:
        """A job's segments, as the holder of one of its units sees them: in a folder of its own.

        Raises:
            ValueError: the id is none.
        """
        if ID.fullmatch(job_id) is None:
            raise ValueError(f"no id: {job_id!r}")
        with told():
            return ObjectSegments(self._bucket, f"{SEGMENTS}/{job_id}", make_private(folder / SEGMENTS))

    def erase_segments(self, job_id: str) -> None:
        """Remove what was made on the way to a job's result. Harmless where there is nothing."""
        if ID.fullmatch(job_id) is not None:
            self._bucket.delete(each.key for each in self._bucket.walk(f"{SEGMENTS}/{job_id}"))

    def free_bytes(self) -> int | None:
        """None: a bucket takes what it is given. Whether it answers at all is asked all the same."""
        self._bucket.check()
        return None

    def sweep(self) -> int:
        """Remove what nobody else will: files left unfinished, results and segments of jobs that no queue knows.

        Returns:
            How many.
        """
        unfinished = self._clock() - UNFINISHED_SECONDS
        removed = self._assets.sweep(self._assets.entries(), unfinished)
        results = self._results.entries()
        removed += self._results.sweep(results, unfinished)
        left = self._clock() - LEFT_SECONDS
        for entry in results:
            if entry.kept is not None and entry.kept.about.expires < self._clock() - OVER_SECONDS:
                self.erase_job(entry.id)
                removed += 1
        segments = sorted(self._bucket.walk(SEGMENTS), key=lambda each: each.key)
        for _, group in groupby(segments, lambda each: each.key.split("/")[1]):
            objects = list(group)
            if max(each.changed for each in objects) < left:
                self._bucket.delete(each.key for each in objects)
                removed += 1
        return removed

    def _fetch(self, kept: Kept[Asset], path: Path) -> None:
        self._bucket.fetch(kept.key, path, size=kept.size, sha256=kept.sha256)


class ObjectSegments:
    """Segments of a job in a bucket; see :class:`~facefusion.service.ports.Segments`.

    Args:
        bucket: where they are.
        prefix: of their keys.
        folder: of one holder of one unit; nobody else uses it.
    """

    def __init__(self, bucket: Bucket, prefix: str, folder: Path) -> None:
        self._bucket = bucket
        self._prefix = prefix
        self.folder = folder

    def hand_in(self) -> None:
        """Bring what lies in the folder to where all workers see it.

        Names hold the token of who made it, so that nobody writes over what another handed in.
        """
        for path in sorted(self.folder.iterdir()):
            self._bucket.put_file(f"{self._prefix}/{path.name}", path)

    def bring(self) -> None:
        """Have in the folder what all workers handed in."""
        for each in self._bucket.walk(self._prefix):
            path = self.folder / each.key.rpartition("/")[2]
            if not path.exists():
                self._bucket.fetch(each.key, path, size=each.size)


class ResultObject:
    """A result in a bucket; see :class:`~facefusion.service.ports.ResultFile`.

    Args:
        bucket: where it is.
        kept: what is known of it.
    """

    def __init__(self, bucket: Bucket, kept: Kept[Result]) -> None:
        self._bucket = bucket
        self._kept = kept

    @property
    def size(self) -> int:
        """Bytes."""
        return self._kept.size

    def read(self, first: int, stop: int) -> Iterator[bytes]:
        """Bytes from ``first`` to before ``stop``, a block at a time.

        Raises:
            NotFoundError: it was erased meanwhile.
        """
        return self._bucket.read(self._kept.key, first, stop)
