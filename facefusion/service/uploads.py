"""Takes uploads in: streamed to a file, measured while they come, looked at, and only then kept.

The client's name for a file never gets here. An upload that ends early, is too large or is no media leaves nothing.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from facefusion.core.storage import FULL, flush, in_units
from facefusion.service.errors import StorageFullError, TooLargeError, UnsupportedMediaError
from facefusion.service.look import REMEDY, Content
from facefusion.service.ports import FileStore
from facefusion.service.records import Asset
from facefusion.service.settings import GIGABYTE, ServiceSettings

HOUR = 3600.0
ABANDONED_SECONDS = 2 * HOUR
"""After which a part file that nothing was written to belongs to a process that ended."""
PART = ".part"
CHECKED_BYTES = 1 << 26
"""How much may come of an upload before it is asked again whether there is room."""


@dataclass(frozen=True, slots=True)
class UploadLimits:
    """How much is taken, in bytes, and for how long it is kept, in seconds."""

    upload: int
    subject: int
    free: int
    retention: float

    @classmethod
    def of(cls, settings: ServiceSettings) -> UploadLimits:
        """Those that are set."""
        return cls(
            round(settings.upload_limit * GIGABYTE),
            round(settings.subject_quota * GIGABYTE),
            round(settings.minimum_free_space * GIGABYTE),
            settings.retention_hours * HOUR,
        )


class Uploads:
    """Takes uploads in.

    Args:
        files: keeps them.
        folder: for those that are on their way; on the storage, so that keeping one is a matter of its name.
        limits: how much is taken.
        look: tells what a file holds.
        clock: seconds since 1970.
    """

    def __init__(
        self,
        files: FileStore,
        folder: Path,
        limits: UploadLimits,
        look: Callable[[Path], Content],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._files = files
        self._folder = folder
        self._limits = limits
        self._look = look
        self._clock = clock
        self._lock = threading.Lock()
        self._coming: Counter[str] = Counter()

    def begin(self, owner: str, announced: int | None) -> Upload:
        """An upload, which has to be closed; unless it was kept by then, nothing of it is left.

        Args:
            owner: who sends it.
            announced: how long the request says it is, in bytes; none where it says nothing.

        Raises:
            TooLargeError: it would be, or its owner would keep too much.
            StorageFullError: there is no room.
        """
        self.check_room(owner, 0 if announced is None else announced)
        return Upload(self, owner, self._folder / f"{secrets.token_hex(16)}{PART}")

    def check_room(self, owner: str, size: int) -> None:
        """Make sure that so many bytes more could be taken.

        Raises:
            TooLargeError: see :meth:`begin`.
            StorageFullError: likewise.
        """
        limits = self._limits
        if size > limits.upload:
            raise TooLargeError(
                f"the upload is larger than {in_units(limits.upload)}", "Send a smaller file, or ask the operator."
            )
        kept = sum(asset.size for asset in self._files.assets(owner))
        with self._lock:
            coming = self._coming[owner]
        if kept + coming + size > limits.subject:
            raise TooLargeError(
                f"with this upload more than {in_units(limits.subject)} would be kept for you",
                "Erase assets that are no longer needed with DELETE /v1/assets/{id}.",
            )
        self.check_free(size)

    def check_free(self, size: int = 0) -> None:
        """Make sure that the storage has room.

        Args:
            size: bytes that are to be added.

        Raises:
            StorageFullError: it has not.
        """
        free = self._files.free_bytes()
        if free is not None and free - size < self._limits.free:
            raise no_room()

    def claim(self, owner: str, size: int, more: int) -> None:
        """Count bytes of an upload that are about to be written.

        Args:
            owner: whose.
            size: what was counted of it before.
            more: the bytes that came.

        Raises:
            TooLargeError: it has become too large, or its owner would keep too much.
            StorageFullError: there is no room.
        """
        if size + more > self._limits.upload:
            raise TooLargeError(
                f"the upload is larger than {in_units(self._limits.upload)}",
                "Send a smaller file, or ask the operator.",
            )
        if size // CHECKED_BYTES != (size + more) // CHECKED_BYTES:
            self.check_room(owner, 0)
        with self._lock:
            self._coming[owner] += more

    def keep(self, upload: Upload) -> Asset:
        """Look into an upload and keep it.

        Raises:
            UnsupportedMediaError: it is nothing that can be worked on.
            TooLargeError: its owner would keep too much.
            StorageFullError: there is no room.
        """
        if not upload.size:
            raise UnsupportedMediaError("the upload is empty", REMEDY)
        self.check_room(upload.owner, 0)
        content = self._look(upload.part)
        created = self._clock()
        asset = Asset(
            id=secrets.token_hex(16),
            owner=upload.owner,
            sha256=upload.sha256,
            size=upload.size,
            media_type=content.media_type,
            extension=content.extension,
            created=created,
            expires=created + self._limits.retention,
            width=content.width,
            height=content.height,
            frames=content.frames,
            duration=content.duration,
        )
        self._files.add(upload.part, asset)
        return asset

    def sweep(self) -> int:
        """Remove what processes that ended left on its way; how many files."""
        removed = 0
        for path in self._folder.glob(f"*{PART}"):
            with contextlib.suppress(FileNotFoundError):
                if self._clock() - path.stat().st_mtime > ABANDONED_SECONDS:
                    path.unlink()
                    removed += 1
        return removed

    def release(self, owner: str, size: int) -> None:
        """Count bytes of an upload no longer: it was kept, or removed."""
        with self._lock:
            self._coming[owner] -= size
            if self._coming[owner] <= 0:
                del self._coming[owner]


class Upload:
    """One upload on its way."""

    def __init__(self, uploads: Uploads, owner: str, part: Path) -> None:
        self._uploads = uploads
        self.owner = owner
        self.part = part
        self.size = 0
        """Bytes that came so far."""
        self._digest = hashlib.sha256()
        self._descriptor: int | None = None

    def write(self, data: bytes) -> None:
        """Add bytes.

        Raises:
            TooLargeError: it has become too large.
            StorageFullError: there is no room.
        """
        self._uploads.claim(self.owner, self.size, len(data))
        self.size += len(data)
        with _room():
            if self._descriptor is None:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
                self._descriptor = os.open(self.part, flags, 0o600)
            view = memoryview(data)
            while view:
                view = view[os.write(self._descriptor, view) :]
        self._digest.update(data)

    @property
    def sha256(self) -> str:
        """Of what came so far."""
        return self._digest.hexdigest()

    def keep(self) -> Asset:
        """All of it is there: look into it and keep it.

        Raises:
            UnsupportedMediaError: see :meth:`Uploads.keep`, likewise other errors.
        """
        with _room():
            self._close_file()
            if self.size:
                flush(self.part)
            return self._uploads.keep(self)

    def close(self) -> None:
        """Remove what was not kept."""
        self._close_file()
        self.part.unlink(missing_ok=True)
        self._uploads.release(self.owner, self.size)

    def _close_file(self) -> None:
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            os.close(descriptor)


@contextlib.contextmanager
def _room() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in FULL or error.errno == errno.EFBIG:
            raise no_room() from error
        raise


def no_room() -> StorageFullError:
    """What to say where the storage is full."""
    return StorageFullError(
        "there is no room for more files", "Try again later, or erase assets and jobs that are no longer needed."
    )
