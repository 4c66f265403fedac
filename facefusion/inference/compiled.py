"""Folders in which what was compiled of graphs is kept, so that a process killed in the midst of it does no harm.

TensorRT writes an engine straight under its final name, and refuses to make a session from half of one. So each folder
carries a list of its files, written once they are whole. Whoever opens a folder that differs from its list empties it,
and it is compiled anew. A lock beside the folder, which dies with its process, keeps two processes from compiling the
same graph at once. Of the folders that lie together, those go that were not opened for longest, once all take too much.
"""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import filelock

logger = logging.getLogger(__name__)

MOST_BYTES = 16 << 30
"""Of all folders that lie together: every model of a run, for two cards or versions."""

LIST = "complete.json"
"""Name and bytes of each file. One that is written anew is emptied first, so that half of it has another size; times
would change where caches are copied into an image."""


@contextmanager
def compiling(folders: Sequence[Path]) -> Iterator[None]:
    """Have the folders of one graph for oneself while its session is made or may compile more.

    Args:
        folders: the graph's own first, then those that it shares with others. These are left to the others where the
            own one is filled, since nothing is compiled then.

    Raises:
        OSError: a folder cannot be made, read or written.
    """
    with ExitStack() as held:
        taken: list[Path] = []
        for folder in folders:
            if folder != folders[0] and is_filled(folders[0]):
                break
            try:
                folder.parent.mkdir(parents=True, exist_ok=True)
                held.enter_context(_lock(folder))
            except OSError:
                if not is_filled(folder) or _listed(folder) != _found(folder):
                    raise
                continue  # a folder that nobody may write to, as in an image, serves as it is
            _open(folder)
            taken.append(folder)
        try:
            yield
        finally:
            # Also after a failure: what was written before it came back is whole.
            for folder in taken:
                if _seal(folder):
                    _make_room(folder.parent, taken)


def is_filled(folder: Path) -> bool:
    """Whether something compiled lies in a folder."""
    return bool(_listed(folder))


def discard(folders: Sequence[Path]) -> None:
    """Empty folders whose content a provider refuses, as of a disk that was full.

    Raises:
        OSError: a folder cannot be emptied.
    """
    for folder in folders:
        logger.info("what lies in %s cannot be used, and is compiled anew", folder)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)


def _make_room(parent: Path, kept: Sequence[Path]) -> None:
    """Remove folders until the rest takes no more than it may; what a session has loaded it needs no more."""
    lists = sorted(parent.glob(f"*/{LIST}"), key=lambda path: path.stat().st_mtime_ns)
    sizes = {path.parent: sum(_listed(path.parent).values()) for path in lists}
    surplus = sum(sizes.values()) - MOST_BYTES
    for folder, size in sizes.items():
        if surplus <= 0:
            return
        if folder not in kept:
            with suppress(filelock.Timeout), _lock(folder, wait=False):
                shutil.rmtree(folder)
                surplus -= size


def _lock(folder: Path, *, wait: bool = True) -> filelock.BaseFileLock:
    return filelock.FileLock(folder.with_name(f"{folder.name}.lock"), timeout=-1 if wait else 0)


def _open(folder: Path) -> None:
    if folder.exists() and _listed(folder) != _found(folder):
        logger.info("%s was left half written, and is compiled anew", folder)
        shutil.rmtree(folder)
    folder.mkdir(exist_ok=True)
    if is_filled(folder):
        with suppress(OSError):  # of others
            (folder / LIST).touch()  # it was used now


def _seal(folder: Path) -> bool:
    """Write down what lies in a folder; whether that is something new."""
    found = _found(folder)
    if found == _listed(folder):
        return False
    draft = folder / f"{LIST}.part"
    draft.write_text(json.dumps(found), encoding="utf-8")
    draft.replace(folder / LIST)
    return True


def _found(folder: Path) -> dict[str, int]:
    """Bytes of each file but our own."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    sizes = {path.relative_to(folder).as_posix(): path.stat().st_size for path in files}
    return {name: size for name, size in sizes.items() if name not in (LIST, f"{LIST}.part")}


def _listed(folder: Path) -> dict[str, int]:
    try:
        listed: Any = json.loads((folder / LIST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    whole = isinstance(listed, dict) and all(isinstance(size, int) for size in listed.values())
    return listed if whole else {}
