"""Where a result is written before it takes its final name."""

from __future__ import annotations

import contextlib
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
from facefusion.core.storage import check_writable, flush, flush_folder, refusal, remove

PART = re.compile(
    r"\.facefusion-(?P<host>[0-9a-f]{8})-(?P<pid>[0-9]+)-(?P<run>[0-9a-f]{8})-[0-9]+\.part(?:\.[a-z0-9.]+)?"
)
"""Name of an unfinished file, or of one that is made of it, with more behind. It says who writes it: what a killed run
left can be told from work going on."""

FOREIGN_AGE = 24 * 60 * 60
"""Seconds without a change after which another machine's unfinished file counts as left behind."""

OTHER_OUTPUT = "Choose another --output-path."

_RUN = secrets.token_hex(4)
_numbers = itertools.count()


def part_path(path: Path, remedy: str = OTHER_OUTPUT) -> Path:
    """A name for the unfinished file, in the folder of the final one, so that the last move is atomic.

    No two calls give the same name, so runs onto one output do not meet before their last move. Where ``path`` is a
    symbolic link, what it points to is meant. What killed runs left in the folder is removed.

    Args:
        path: the final name.
        remedy: what the user can do where nothing can be written there.

    Raises:
        OutputError: nothing can be written there.
    """
    final = final_name(path, remedy)
    folder = final.parent
    if final.is_dir():
        raise OutputError(f"{path} is a folder", f"Name a file in it. {remedy}")
    if final.exists() and not final.is_file():
        raise OutputError(f"{path} is there and is no regular file", remedy)
    if not folder.is_dir():
        raise OutputError(f"the output folder {folder} does not exist", f"Create it. {remedy}")
    check_writable(folder, remedy)
    remove_abandoned(folder)
    return folder / f".facefusion-{_host()}-{os.getpid()}-{_RUN}-{next(_numbers)}.part"


def move_into_place(part: Path, path: Path, remedy: str = OTHER_OUTPUT) -> None:
    """Give a finished, verified file its final name, replacing what lies there, once all of it is on the disk.

    Raises:
        OutputError: the name cannot be taken, or the disk does not hold the file.
        ResourceError: the disk is full.
    """
    final = final_name(path, remedy)
    settle(part, path, remedy)
    try:
        part.replace(final)
    except OSError as error:
        raise refusal(error, path, f"Close programs that use it. {remedy}") from error
    flush_folder(final.parent)


def settle(part: Path, path: Path, remedy: str = OTHER_OUTPUT) -> None:
    """Return once the disk holds all of a finished file, which may take long.

    Raises:
        OutputError: the disk does not hold it.
        ResourceError: the disk is full.
    """
    try:
        flush(part)
    except OSError as error:
        raise refusal(error, path, remedy) from error


def remove_abandoned(folder: Path) -> None:
    """Remove the unfinished files that killed runs left in a folder, as far as they can be."""
    with contextlib.suppress(OSError):  # a folder may be written to and not read
        for path in abandoned(folder):
            # Another process may be at it too; Windows refuses as long as the file is open.
            with contextlib.suppress(OSError):
                remove(path)


def abandoned(folder: Path) -> list[Path]:
    """The unfinished files that killed runs left in a folder; those of runs going on are none.

    Raises:
        OSError: the folder cannot be read.
    """
    return [path for path in sorted(folder.iterdir()) if _is_abandoned(path)]


def final_name(path: Path, remedy: str = OTHER_OUTPUT) -> Path:
    """Where a file lies in the end: what a symbolic link points to, if ``path`` is one.

    Raises:
        OutputError: the system does not let us look.
    """
    try:
        path.stat()
    except FileNotFoundError:
        pass
    except OSError as error:
        raise refusal(error, path, remedy) from error
    return Path(os.path.realpath(path))


def _is_abandoned(path: Path) -> bool:
    name = PART.fullmatch(path.name)
    if name is None:
        return False
    if name["host"] != _host():
        return _age(path) > FOREIGN_AGE
    pid = int(name["pid"])
    return name["run"] != _RUN if pid == os.getpid() else not psutil.pid_exists(pid)


def _age(path: Path) -> float:
    """Seconds without a change; none where its run removes it at this moment."""
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _host() -> str:
    """Names the machine, or the container, within which a process number means one process."""
    space = ""
    with contextlib.suppress(OSError):
        space = str(Path("/proc/self/ns/pid").readlink())
    return hashlib.sha256(f"{platform.node()} {space}".encode()).hexdigest()[:8]
