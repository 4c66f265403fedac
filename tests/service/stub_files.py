"""A store of files in a folder, as little of it as workers need."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from facefusion.service.errors import NotFoundError, StorageFullError
from facefusion.service.files import FolderSegments, ResultInFolder
from facefusion.service.records import Asset, Result


class StubFiles:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for name in ("assets", "results", "segments"):
            (folder / name).mkdir(parents=True, exist_ok=True)

    def put(self, asset_id: str, text: str) -> None:
        (self._folder / "assets" / asset_id).write_text(text)

    def add(self, part: Path, asset: Asset) -> None:
        part.replace(self._folder / "assets" / asset.id)

    def asset(self, asset_id: str) -> Asset | None:
        return None

    def assets(self, owner: str | None) -> Sequence[Asset]:
        return ()

    def fetch(self, asset_id: str, folder: Path) -> Path:
        path = self._folder / "assets" / asset_id
        if not path.exists():
            raise NotFoundError(f"the asset {asset_id} is gone")
        return path

    def put_result(self, job_id: str, path: Path, result: Result) -> None:
        if (self._folder / "full").exists():
            raise StorageFullError("there is no room for more files", "Try again later.")
        path.replace(self._folder / "results" / job_id)

    def fetch_result(self, job_id: str, folder: Path) -> Path:
        return self._folder / "results" / job_id

    def open_result(self, job_id: str, result: Result) -> ResultInFolder:
        path = self._folder / "results" / job_id
        return ResultInFolder(path, path.stat().st_size)

    def erase_asset(self, asset_id: str) -> None:
        (self._folder / "assets" / asset_id).unlink(missing_ok=True)

    def erase_job(self, job_id: str) -> None:
        (self._folder / "results" / job_id).unlink(missing_ok=True)
        shutil.rmtree(self._folder / "segments" / job_id, ignore_errors=True)

    def segments(self, job_id: str, folder: Path) -> FolderSegments:
        shared = self._folder / "segments" / job_id
        shared.mkdir(exist_ok=True)
        return FolderSegments(shared)

    def erase_segments(self, job_id: str) -> None:
        shutil.rmtree(self._folder / "segments" / job_id, ignore_errors=True)

    def sweep(self) -> int:
        return 0

    def free_bytes(self) -> int | None:
        return None
