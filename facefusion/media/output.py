"""Where a result is written before it takes its final name."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import itertools
import os
import platform
import re
import secrets
import time
from pathlib import Path

import psutil

from facefusion.core.errors import OutputError

PART = re.compile(r"\.facefusion-(?P<host>[0-9a-f]{8})-(?P<pid>[0-9]+)-(?P<run>[0-9a-f]{8})-[0-9]+\.part")
"""Name of an unfinished file. It says who writes it: what a killed run left can be told from work going on."""

FOREIGN_AGE = 24 * 60 * 60
"""Seconds without a change after which another machine's unfinished file counts as left behind."""

_RUN = secrets.token_hex(4)
_numbers = itertools.count()


def part_path(path: Path) -> Path:
    """A name for the unfinished file, in the folder of the final one, so that the last move is atomic.

    No two calls give the same name, so runs onto one output do not meet before their last move. Where ``path`` is a
    symbolic link, what it points to is meant. What killed runs left in the folder is removed.

    Raises:
        OutputError: nothing can be written there.
    """
    final = _final(path)
    folder = final.parent
    if final.is_dir():
        raise OutputError(f"{path} is a folder", "Name a file in it as the output.")
    if final.exists() and not final.is_file():
        raise OutputError(f"{path} is there and is no regular file", "Choose another output path.")
    if not folder.is_dir():
        raise OutputError(f"the output folder {folder} does not exist", "Create it or choose another output path.")
    if not os.access(folder, os.W_OK):
        raise OutputError(f"the output folder {folder} cannot be written to", "Choose another output path.")
    _clear_up(folder)
    return folder / f".facefusion-{_host()}-{os.getpid()}-{_RUN}-{next(_numbers)}.part"


def move_into_place(part: Path, path: Path) -> None:
    """Give a finished, verified file its final name, replacing what lies there, once all of it is on the disk.

    Raises:
        OutputError: the name cannot be taken, or the disk does not hold the file.
    """
    try:
        _flush(part)
        part.replace(_final(path))
    except OSError as error:
        raise OutputError(
            f"{path} cannot be replaced ({error.strerror})", "Close programs that use it, and check the disk's space."
        ) from error


def _final(path: Path) -> Path:
    try:
        path.stat()
    except FileNotFoundError:
        pass
    except OSError as error:
        raise OutputError(f"{path} cannot be written ({error.strerror})", "Choose another output path.") from error
    return Path(os.path.realpath(path))


def _flush(part: Path) -> None:
    with part.open("rb+") as file:
        try:
            os.fsync(file.fileno())
        except OSError as error:
            if error.errno != errno.EINVAL:  # what a file system says that cannot be asked
                raise


def _clear_up(folder: Path) -> None:
    for path in folder.glob(".facefusion-*.part"):
        # Another process may be at it too; Windows refuses as long as the file is open.
        with contextlib.suppress(OSError):
            if _is_abandoned(path):
                path.unlink()


def _is_abandoned(path: Path) -> bool:
    name = PART.fullmatch(path.name)
    if name is None:
        return False
    if name["host"] != _host():
        return time.time() - path.stat().st_mtime > FOREIGN_AGE
    pid = int(name["pid"])
    return name["run"] != _RUN if pid == os.getpid() else not psutil.pid_exists(pid)


def _host() -> str:
    """Names the machine, or the container, within which a process number means one process."""
    space = ""
    with contextlib.suppress(OSError):
        space = str(Path("/proc/self/ns/pid").readlink())
    return hashlib.sha256(f"{platform.node()} {space}".encode()).hexdigest()[:8]
