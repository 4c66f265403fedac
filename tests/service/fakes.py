"""Parts of the service that keep everything in this process, for tests of those who use them."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from facefusion.service.errors import NotFoundError
from facefusion.service.files import FolderSegments, ResultInFolder
from facefusion.service.records import Asset, Result


class Clock:
    """Seconds since 1970, which pass when a test says so."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class MemoryFiles:
    """A store that knows what it was given, in a folder of the test's."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._assets: dict[str, Asset] = {}
        self._results: dict[str, Path] = {}
        self.free: int | None = None
        self.erased: list[str] = []
        self.tidied: list[str] = []

    def add(self, part: Path, asset: Asset) -> None:
        shutil.move(part, self._folder / asset.id)
        self._assets[asset.id] = asset

    def asset(self, asset_id: str) -> Asset | None:
        return self._assets.get(asset_id)

    def assets(self, owner: str | None) -> Sequence[Asset]:
        return [asset for asset in self._assets.values() if owner is None or asset.owner == owner]

    def fetch(self, asset_id: str, folder: Path) -> Path:
        asset = self._assets.get(asset_id)
        if asset is None:
            raise NotFoundError(f"there is no asset {asset_id}")
        return Path(shutil.copyfile(self._folder / asset_id, folder / f"file{asset.extension}"))

    def put_result(self, job_id: str, path: Path, result: Result) -> None:
        kept = self._folder / f"{job_id}{result.extension}"
        shutil.move(path, kept)
        self._results[job_id] = kept

    def open_result(self, job_id: str, result: Result) -> ResultInFolder:
        if job_id not in self._results:
            raise NotFoundError(f"there is no result of job {job_id}")
        path = self._results[job_id]
        return ResultInFolder(path, path.stat().st_size)

    def erase_asset(self, asset_id: str) -> None:
        self.erased.append(asset_id)
        if self._assets.pop(asset_id, None) is not None:
            (self._folder / asset_id).unlink()

    def erase_job(self, job_id: str) -> None:
        self.erased.append(job_id)
        if (kept := self._results.pop(job_id, None)) is not None:
            kept.unlink()

    def segments(self, job_id: str, folder: Path) -> FolderSegments:
        return FolderSegments(folder)

    def erase_segments(self, job_id: str) -> None:
        self.tidied.append(job_id)

    def sweep(self) -> int:
        return 0

    def free_bytes(self) -> int | None:
        return self.free
