"""Work folders that no run is working in: what they hold, and removing those that nobody needs any more."""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import filelock

from facefusion.core.storage import Removed, remove, size_of
from facefusion.pipeline.work_root import alone, lock_on

FORMAT = 1
"""Of what lies in a folder. Another one is not gone on from."""

FOLDER_NAME = re.compile(r"[0-9a-f]{16}-[0-9a-f]{8}")
LOCK = "lock"
MARK = "folder.json"
KEPT = "kept"
"""Name of the file that says that the user wants to keep the folder."""
SEGMENT = re.compile(r"segment-(?P<number>[0-9]{6,})\.(mkv|mkv\.part|json|json\.part)")


@dataclass(frozen=True, slots=True)
class LeftFolder:
    """A folder that no run works in. Its lock is held by whoever has this, until it is removed or released."""

    path: Path
    lock: filelock.BaseFileLock

    @property
    def address(self) -> str:
        """Of the step that it belongs to."""
        return self.path.name.partition("-")[0]

    @property
    def is_marked(self) -> bool:
        """Whether it was made to the end, and its removal not begun."""
        return (self.path / MARK).exists()

    @property
    def fingerprint(self) -> Mapping[str, str] | None:
        """What its segments were made with; none where it is of another format, or nothing."""
        mark = read_json(self.path / MARK)
        prints = mark.get("fingerprint")
        return cast("Mapping[str, str]", prints) if mark.get("format") == FORMAT and isinstance(prints, dict) else None

    @property
    def begun(self) -> float:
        """When it was made, in seconds since 1970."""
        begun = read_json(self.path / MARK).get("begun")
        return float(begun) if isinstance(begun, int | float) else self.path.stat().st_mtime

    @property
    def is_kept(self) -> bool:
        """Whether the user asked for it to stay."""
        return self.is_marked and (self.path / KEPT).exists()

    @property
    def changed(self) -> float:
        """When something in it was last written, in seconds since 1970."""
        return max(path.lstat().st_mtime for path in (self.path, *self.path.rglob("*")) if path.name != LOCK)

    @property
    def record_count(self) -> int:
        """How many segments seem to be finished."""
        return sum(1 for path in self.path.glob("segment-*.json") if SEGMENT.fullmatch(path.name))

    @property
    def is_resumable(self) -> bool:
        """Whether a run of the same step could go on from it, or the user asked for it to stay."""
        return self.is_kept or (self.fingerprint is not None and self.record_count > 0)

    def clean(self, max_age: float, *, resumable: bool = False) -> Removed | None:
        """Remove it if nobody needs it, else release it; only while :func:`alone`.

        Args:
            max_age: seconds without a change after which it may go.
            resumable: whether it may go even if a run could go on from it.
        """
        if (resumable or not self.is_resumable) and time.time() - self.changed >= max_age:
            return self.remove()
        self.lock.release()
        return None

    def remove(self) -> Removed | None:
        """Remove it; only while :func:`alone`. None where the system keeps a part of it.

        The mark goes first: without it the folder is known for one whose removal was cut short.
        """
        self.lock.release()
        with contextlib.suppress(OSError):
            size = size_of(self.path)
            (self.path / MARK).unlink(missing_ok=True)
            remove(self.path)
            return Removed(self.path, size)
        return None


def unused(root: Path) -> Iterator[LeftFolder]:
    """Folders that no run holds, locked; only while :func:`alone`."""
    for path in sorted(root.iterdir()):
        if FOLDER_NAME.fullmatch(path.name) is None or path.is_symlink() or not path.is_dir():
            continue
        lock = lock_on(path / LOCK)
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout:
            continue
        yield LeftFolder(path, lock)


def remove_stale(root: Path, max_age: float, *, resumable: bool = False) -> tuple[list[Removed], list[Path]]:
    """Remove the folders under a root that are not in use, and that nobody needs.

    Args:
        root: of the folders; need not be there.
        max_age: seconds without a change after which a folder may go.
        resumable: whether those may go too that a run could go on from.

    Returns:
        What was removed, and the folders that a run could go on from.

    Raises:
        OSError: the root cannot be read.
        ResourceError: another process hangs.
    """
    if not root.is_dir():
        return [], []
    removed, kept = [], []
    with alone(root):
        for folder in unused(root):
            is_resumable = folder.is_resumable
            gone = folder.clean(max_age, resumable=resumable)
            if gone is not None:
                removed.append(gone)
            elif is_resumable:
                kept.append(folder.path)
    return removed, kept


def read_json(path: Path) -> Mapping[str, object]:
    """An object from a file; empty where there is none."""
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}
