"""Files that are there whole or not at all, and what it means when the system refuses to write them."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from facefusion.core.errors import DiskFullError, FaceFusionError, OutputError

FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
"""No space left, or none of the user's share."""

_REASONS = {
    errno.EACCES: "you may not write there",
    errno.EPERM: "you may not write there",
    errno.EROFS: "its file system is read-only",
    errno.EFBIG: "the file grows beyond what the file system or a limit of the system allows",
    errno.EEXIST: "a file of that name is there",
    errno.ENOTDIR: "a part of the path is no folder",
    errno.ENOENT: "the folder is not there",
    errno.EIO: "the disk reports an error",
    errno.ENAMETOOLONG: "the name is too long",
}


UNITS = ("bytes", "kB", "MB", "GB", "TB")


def in_units(count: int) -> str:
    """Bytes as a person reads them: ``340 MB``, ``1.2 GB``."""
    value, unit = float(count), UNITS[0]
    for larger in UNITS[1:]:
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.1f} {unit}" if value < 10 and unit != UNITS[0] else f"{value:.0f} {unit}"


def is_of_the_disk(error: OSError) -> bool:
    """Whether the place is at fault, not what was to be written."""
    return error.errno in FULL or error.errno in _REASONS


def refusal(error: OSError, path: Path, remedy: str) -> FaceFusionError:
    """The error to raise where the system does not let us write.

    Args:
        error: the system's.
        path: what was to be written.
        remedy: what the user can do, such as the option that names another place.
    """
    if error.errno in FULL:
        return DiskFullError(f"{path} cannot be written: the disk is full", f"Free some space. {remedy}")
    reason = _REASONS.get(error.errno or 0) or error.strerror or str(error)
    return OutputError(f"{path} cannot be written: {reason}", remedy)


def check_writable(folder: Path, remedy: str) -> None:
    """Make sure that files can be made in a folder, as far as the system tells without trying.

    Raises:
        OutputError: they cannot.
    """
    if os.access(folder, os.W_OK | os.X_OK):
        return
    is_read_only = sys.platform != "win32" and bool(os.statvfs(folder).f_flag & os.ST_RDONLY)
    cause = _REASONS[errno.EROFS if is_read_only else errno.EACCES]
    raise OutputError(f"the folder {folder} cannot be written to: {cause}", remedy)


@dataclass(frozen=True, slots=True)
class Removed:
    """A file or folder that is no longer there."""

    path: Path
    bytes: int
    """What it took on the disk, by the sizes of its files."""


def size_of(path: Path) -> int:
    """Bytes in a file, or in all files of a folder. Links count as what they are."""
    if not path.is_dir() or path.is_symlink():
        return path.lstat().st_size
    with os.scandir(path) as entries:
        return sum(size_of(Path(entry)) for entry in entries)


def remove(path: Path) -> Removed:
    """Remove a file, or a folder with all that is in it.

    Raises:
        OSError: it cannot be removed, or not all of it.
    """
    removed = Removed(path, size_of(path))
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
    return removed


def flush(path: Path) -> None:
    """Return once the disk holds the file's content.

    Raises:
        OSError: it cannot.
    """
    with path.open("rb+") as file:
        try:
            os.fsync(file.fileno())
        except OSError as error:
            if error.errno != errno.EINVAL:  # what a file system says that cannot be asked
                raise


def flush_folder(folder: Path) -> None:
    """Return once the disk holds the names in a folder. Windows keeps them by itself."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # some network file systems cannot be asked
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file: at any moment there is all of it under its name, or what was there before.

    The unfinished one lies beside it, with ``.part`` added to its name; no two writers at once.

    Raises:
        OSError: it cannot be written.
    """
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_bytes(data)
        flush(part)
        part.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise
    flush_folder(path.parent)
