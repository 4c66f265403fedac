"""Folders of graphs that were optimised: what is in them, whether it is what was written, and when they go.

Each is a folder with ``graph.onnx``, a file of its constants, and ``record.json``, which tells of both and whose they
are. It is written under another name and then moved: under its own name lies all of it, or nothing. A record of no
files says of a graph that it is not kept.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import shutil
import stat
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from facefusion.catalogue.checksums import sha256_of
from facefusion.core.storage import Removed, flush, remove, write_whole

GRAPH, RECORD = "graph.onnx", "record.json"

UNUSED_SECONDS = 30 * 24 * 3600
"""After which a kept graph goes when the user cleans up."""

UNFINISHED = ".part-"
"""How the names of folders begin in which a graph is being written, or from which one is being removed."""


@dataclass(frozen=True, slots=True)
class KeptFile:
    """What is known of a file of a kept graph."""

    name: str
    sha256: str
    bytes: int
    modified: int
    """Time of the last change in nanoseconds: while size and time stay, the file is not read again."""

    @classmethod
    def of(cls, path: Path) -> KeptFile:
        """Read a file.

        Raises:
            OSError: it cannot be read.
        """
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # a pipe is waited for without end
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        return cls(path.name, sha256_of(path), status.st_size, status.st_mtime_ns)

    def is_untouched(self, folder: Path) -> bool:
        """Whether the file has the size and the time of change that it was recorded with.

        Raises:
            PermissionError: it may not be read, as one of another user.
            OSError: it is not there.
        """
        path = folder / self.name
        status = path.stat()
        if not os.access(path, os.R_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return (status.st_size, status.st_mtime_ns) == (self.bytes, self.modified)


def is_kept(place: Path) -> bool:
    """Whether there is something in a folder, of which we may know."""
    with contextlib.suppress(OSError):
        return (place / RECORD).is_file()
    return False


def is_plain(place: Path) -> bool:
    """Whether a graph was found to be one that is not kept."""
    with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
        return not _recorded(place)
    return False


def is_sound(place: Path) -> bool:
    """Whether what lies in a folder is what was written there; reads it where sizes or times differ from the record.

    Raises:
        PermissionError: a file may not be read.
        OSError: a file is not there.
        ValueError, LookupError, TypeError: the record is none, or another folder's.
    """
    files = _recorded(place)
    if all(file.is_untouched(place) for file in files):
        return True
    found = [KeptFile.of(place / file.name) for file in files]
    if [file.sha256 for file in found] != [file.sha256 for file in files]:
        return False
    with contextlib.suppress(OSError):
        _save(place, place.name, found)  # so that it is not read again: it was copied from elsewhere
    return True


@contextlib.contextmanager
def draft_in(folder: Path) -> Iterator[Path]:
    """A folder to write a graph to, which is removed where it is not sealed. Others may read it as the umask says.

    Raises:
        OSError: it cannot be made.
    """
    draft = folder / f"{UNFINISHED}{secrets.token_hex(8)}"
    draft.mkdir()
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def seal(draft: Path, place: Path) -> None:
    """Record what was written to a folder, and give it its name; nothing happens where another process was faster.

    Something else of that name, such as what is left of a kept graph, makes room.

    Raises:
        OSError: it cannot be written.
    """
    files = [KeptFile.of(path) for path in sorted(draft.iterdir())]
    for file in files:
        flush(draft / file.name)
    _save(draft, place.name, files)
    try:
        draft.rename(place)
    except OSError:
        if not is_kept(place):
            discard(place)
            draft.rename(place)


def discard(place: Path) -> None:
    """Remove a folder: first its name, so that nobody opens half of it. A file that is mapped stays until it is not."""
    # Another process may be at it too, and Windows keeps files that are mapped.
    with contextlib.suppress(OSError), draft_in(place.parent) as gone:
        place.rename(gone / place.name)


def note_use(place: Path) -> None:
    """Remember that a graph was used now."""
    with contextlib.suppress(OSError):  # where others wrote it, for all to read
        os.utime(place / RECORD)


def make_room(folder: Path, most_bytes: int, newest: Path) -> None:
    """Remove graphs that were not used for longest until the others take so many bytes, but not the newest.

    Raises:
        OSError: the folder cannot be read.
    """
    places = [place for place in folder.iterdir() if not place.name.startswith(UNFINISHED)]
    sizes = {place: _bytes(place) for place in places}
    total = sum(sizes.values())
    for place in sorted(sizes, key=_last_used):
        if total <= most_bytes:
            return
        if place != newest:
            discard(place)
            total -= sizes[place]


def remove_unused(folder: Path, max_age: float) -> list[Removed]:
    """Remove graphs that nothing used for :data:`UNUSED_SECONDS`, and what was left of writing one.

    What other users keep for themselves is left to them.

    Args:
        folder: of kept graphs; need not be there.
        max_age: seconds after which an unfinished one may go.

    Raises:
        OSError: the folder cannot be read, or something in it not removed.
    """
    removed, now = [], time.time()
    with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        for place in sorted(folder.iterdir()):
            with contextlib.suppress(FileNotFoundError, PermissionError):  # another process may be at it too
                if place.name.startswith(UNFINISHED):
                    may_go = now - place.stat().st_mtime >= max_age
                else:
                    may_go = now - _last_used(place) / 1e9 >= UNUSED_SECONDS
                if may_go:
                    removed.append(remove(place))
    return removed


def _save(folder: Path, name: str, files: Sequence[KeptFile]) -> None:
    record = {"graph": name, "files": [asdict(file) for file in files]}
    write_whole(folder / RECORD, json.dumps(record).encode())


def _recorded(place: Path) -> list[KeptFile]:
    """The files that a folder's record tells of.

    Raises:
        OSError: there is no record, or it may not be read.
        ValueError, LookupError, TypeError: it is none, or another folder's.
    """
    try:
        record = json.loads((place / RECORD).read_text(encoding="utf-8"))
    except RecursionError as error:
        raise ValueError("brackets without end") from error
    if record["graph"] != place.name:
        raise ValueError(f"it is that of {record['graph']}")
    return [KeptFile(**table) for table in record["files"]]


def _bytes(place: Path) -> int:
    with contextlib.suppress(OSError):
        return sum(path.stat().st_size for path in place.iterdir())
    return 0


def _last_used(place: Path) -> int:
    with contextlib.suppress(OSError):
        return (place / RECORD).stat().st_mtime_ns
    return 0
