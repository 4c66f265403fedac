"""Copies of assets on a worker's own disk, so that the segments of a job do not fetch the same video again and again.

An asset that was erased is somebody's face that was promised to be gone: its copy goes within :data:`TEND_SECONDS`, and
that of one that nobody asks for any more a little later.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from facefusion.core.errors import FaceFusionError
from facefusion.core.ticker import Ticker
from facefusion.service.kept_files import told

logger = logging.getLogger(__name__)

TEND_SECONDS = 30.0
"""Between two looks whether what is copied is still there."""
IDLE_SECONDS = 600.0
"""After which a copy goes that nobody asked for."""


class AssetCopies:
    """Copies of assets in a folder, the least recently used of which make room for new ones. Thread-safe.

    What is handed out is a second name for the copy, in the folder of whoever asks, so that none goes under its user.

    Args:
        folder: of the copies, for nobody else.
        limit: bytes that they may have together. One that is larger by itself is not kept.
        clock: seconds that only grow.
    """

    def __init__(self, folder: Path, limit: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder = folder
        self._limit = limit
        self._clock = clock
        self._lock = threading.Lock()
        self._used: dict[str, float] = {}
        """When each copy was asked for, by the id of its asset; the least recently used one first."""

    def get(self, asset_id: str, size: int, path: Path, fetch: Callable[[Path], None]) -> None:
        """Have an asset at a path.

        Args:
            asset_id: of the asset.
            size: of it, in bytes.
            path: in a folder of the asker's, on the same disk.
            fetch: gets the asset to a path.
        """
        with self._lock:
            copy = self._folder / asset_id
            if size > self._limit:
                fetch(path)
                return
            if asset_id not in self._used:
                self._make_room(size)
                fetch(copy)
            self._used.pop(asset_id, None)
            self._used[asset_id] = self._clock()
            with told():
                _share(copy, path)

    def tend(self, is_kept: Callable[[str], bool]) -> None:
        """Remove the copies of what was erased, and those that nobody has asked for of late.

        Args:
            is_kept: whether an asset is still there; may say that it does not know, by an error.
        """
        with self._lock:
            used = dict(self._used)
        for asset_id, last in used.items():
            is_idle = last + IDLE_SECONDS < self._clock()
            try:
                is_wanted = not is_idle and is_kept(asset_id)
            except FaceFusionError as error:
                logger.warning("whether %s is still there is not known: %s", asset_id, error)
                continue
            if not is_wanted:
                with self._lock:
                    self._drop(asset_id)

    @contextlib.contextmanager
    def tended(self, is_kept: Callable[[str], bool]) -> Iterator[None]:
        """Have :meth:`tend` done again and again meanwhile."""
        with contextlib.closing(Ticker(TEND_SECONDS, lambda: self.tend(is_kept), "copies of assets")) as ticker:
            ticker.start()
            yield

    def _make_room(self, size: int) -> None:
        sizes = {asset_id: (self._folder / asset_id).stat().st_size for asset_id in self._used}
        while sizes and sum(sizes.values()) + size > self._limit:
            oldest = next(iter(sizes))
            del sizes[oldest]
            self._drop(oldest)

    def _drop(self, asset_id: str) -> None:
        self._used.pop(asset_id, None)
        (self._folder / asset_id).unlink(missing_ok=True)


def _share(copy: Path, path: Path) -> None:
    """Give a file a second name; where the disk knows none, a second file."""
    try:
        os.link(copy, path)
    except OSError:
        shutil.copyfile(copy, path)
