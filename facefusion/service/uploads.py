"""Takes uploads in: streamed to a file, measured while they come, looked at, and only then kept.

The client's name for a file never gets here. An upload that ends early, is too large or is no media leaves nothing.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import logging
import os
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from facefusion.core.storage import FULL, flush, in_units
from facefusion.service.errors import ServiceUnavailableError, StorageFullError, TooLargeError, UnsupportedMediaError
from facefusion.service.ledger import CLAIM_SECONDS, Ledger, MemoryLedger
from facefusion.service.look import REMEDY, Content
from facefusion.service.ports import FileStore
from facefusion.service.records import Asset
from facefusion.service.settings import GIGABYTE, ServiceSettings

logger = logging.getLogger(__name__)

HOUR = 3600.0
ABANDONED_SECONDS = CLAIM_SECONDS
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
    files: int = 100_000
    """Of one user; each takes a folder, and a look whenever they are listed."""

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
        ledger: knows what else is on its way; of this process alone where none is given.
        kept_results: how many bytes of results are kept for a user.
    """

    def __init__(
        self,
        files: FileStore,
        folder: Path,
        limits: UploadLimits,
        look: Callable[[Path], Content],
        clock: Callable[[], float] = time.time,
        ledger: Ledger | None = None,
        kept_results: Callable[[str], int] = lambda _: 0,
    ) -> None:
        self._files = files
        self._folder = folder
        self._limits = limits
        self._look = look
        self._clock = clock
        self._ledger = ledger or MemoryLedger()
        self._kept_results = kept_results

    def begin(self, owner: str, announced: int | None) -> Upload:
        """An upload, which has to be closed; unless it was kept by then, nothing of it is left.

        Args:
            owner: who sends it.
            announced: how long the request says it is, in bytes; none where it says nothing.

        Raises:
            TooLargeError: it would be, or its owner would keep too much.
            StorageFullError: there is no room.
        """
        upload = Upload(self, owner, self._folder / f"{secrets.token_hex(16)}{PART}", announced or 0)
        try:
            self.claim(upload, upload.announced)
            self.check_free(upload.announced)
        except BaseException:
            self.release(upload)
            raise
        return upload

    def claim(self, upload: Upload, size: int) -> None:
        """Make sure that an upload may have so many bytes, and count them until it is released.

        Raises:
            TooLargeError: it would be too large, or its owner would keep too much.
        """
        self.check_quota(upload.owner, self._count(upload, size))

    def check_quota(self, owner: str, coming: int = 0) -> None:
        """Make sure that a user may keep more.

        Args:
            owner: who it is.
            coming: bytes that are to be added.

        Raises:
            TooLargeError: they may not.
        """
        assets = self._files.assets(owner)
        if len(assets) >= self._limits.files:
            raise TooLargeError(
                f"{len(assets)} uploads are kept for you already",
                "Erase what is no longer needed with DELETE /v1/assets/{id}.",
            )
        if sum(asset.size for asset in assets) + self._kept_results(owner) + coming > self._limits.subject:
            raise TooLargeError(
                f"more than {in_units(self._limits.subject)} would be kept for you",
                "Erase what is no longer needed with DELETE /v1/assets/{id} and DELETE /v1/jobs/{id}.",
            )

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

    def check_growth(self, upload: Upload, before: int) -> None:
        """Make sure that an upload which grew may do so; now and then its owner's quota and the storage are asked.

        Args:
            upload: that grew.
            before: bytes that it had.

        Raises:
            TooLargeError: see :meth:`claim`.
            StorageFullError: there is no room.
        """
        coming = self._count(upload, max(upload.size, upload.announced))
        if before // CHECKED_BYTES != upload.size // CHECKED_BYTES:
            self.check_quota(upload.owner, coming)
            self.check_free()

    def keep(self, upload: Upload) -> Asset:
        """Look into an upload and keep it.

        Raises:
            UnsupportedMediaError: it is nothing that can be worked on.
            TooLargeError: its owner would keep too much.
            StorageFullError: there is no room.
        """
        if not upload.size:
            raise UnsupportedMediaError("the upload is empty", REMEDY)
        self.claim(upload, upload.size)
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

    def _count(self, upload: Upload, size: int) -> int:
        """All that is on its way to the owner of an upload that has so many bytes.

        Raises:
            TooLargeError: those are too many for one upload.
        """
        if size > self._limits.upload:
            raise TooLargeError(
                f"the upload is larger than {in_units(self._limits.upload)}",
                "Send a smaller file, or ask the operator.",
            )
        return self._ledger.claim(upload.owner, upload.part.name, size)

    def release(self, upload: Upload) -> None:
        """Count an upload no longer: it was kept, or removed. Where that cannot be noted, its claim lapses."""
        try:
            self._ledger.release(upload.owner, upload.part.name)
        except ServiceUnavailableError as error:
            logger.warning("an upload that ended counts towards a quota for a while: %s", error)


class Upload:
    """One upload on its way."""

    def __init__(self, uploads: Uploads, owner: str, part: Path, announced: int) -> None:
        self._uploads = uploads
        self.owner = owner
        self.part = part
        self.announced = announced
        """Bytes that were promised; 0 where nothing was."""
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
        before, self.size = self.size, self.size + len(data)
        self._uploads.check_growth(self, before)
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
        self._uploads.release(self)

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
