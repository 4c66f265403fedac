"""Checksums of files. Those of large files are remembered on disk, so that the next process need not read them.

A file counts as the one that was read while its place on the disk, its size and its times stay. One of these times is
that at which the system last changed anything about it, which no program can set (on Windows it is that at which it was
made). What was written a moment before it was read is not remembered: it may be written to again within the same tick
of the file system's clock.

The list is as much trusted as the program's own files: who may write the one may write the other.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

from facefusion.core.home import caches_folder
from facefusion.core.storage import write_whole

State: TypeAlias = tuple[int, int, int, int]
"""Inode, size, time of the content's change and of any change (ns) of a file."""

LEAST_BYTES = 1 << 20
"""Of a file whose checksums are remembered on disk. Smaller ones are read within a millisecond."""

SETTLED_SECONDS = 2.0
"""After which a file's times tell a further change: the coarsest clock of a file system in use ticks so often."""

MOST_FILES = 1 << 10
"""That are remembered on disk."""

_CHUNK = 1 << 20


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, as 64 hexadecimal digits."""
    digest = hashlib.sha256()
    for chunk in _chunks(path):
        digest.update(chunk)
    return digest.hexdigest()


def crc32_of(path: Path) -> str:
    """CRC-32 of a file (that of zlib), as 8 hexadecimal digits."""
    crc = 0
    for chunk in _chunks(path):
        crc = zlib.crc32(chunk, crc)
    return f"{crc:08x}"


ALGORITHMS: dict[str, Callable[[Path], str]] = {"sha256": sha256_of, "crc32": crc32_of}


class Checksums:
    """Checksums of files by whatever link they are reached, each read only when it changed. Thread-safe.

    Several processes may share the file: what one of them overwrites of another is found out anew.

    Args:
        path: where they are remembered. Where it cannot be written they are not.
        clock: seconds since the epoch, as of files' times; another one in tests.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], tuple[State, str]] | None = None
        """By algorithm and path."""
        self._fresh: set[tuple[str, str]] = set()
        """Those of files that were written a moment before they were read."""

    def of(self, path: Path, algorithm: str) -> str:
        """The checksum of a file as it is now.

        Args:
            path: of the file.
            algorithm: ``sha256`` or ``crc32``.

        Raises:
            OSError: it cannot be read.
        """
        with self._lock:  # two threads that ask for the same file read it once
            path = path.resolve()
            state = _state(path)
            if self._known is None:
                self._known = self._read()
            key = algorithm, str(path)
            known = self._known.get(key)
            if known is not None and known[0] == state:
                return known[1]
            is_settled = max(state[2:]) < (self._clock() - SETTLED_SECONDS) * 1e9
            checksum = ALGORITHMS[algorithm](path)
            self._known[key] = state, checksum
            if is_settled:
                self._fresh.discard(key)
            else:
                self._fresh.add(key)
            if state[1] >= LEAST_BYTES and is_settled:
                self._write()
            return checksum

    def _read(self) -> dict[tuple[str, str], tuple[State, str]]:
        try:
            rows = json.loads(self._path.read_text(encoding="utf-8"))
            return {
                (str(algorithm), str(path)): ((int(inode), int(size), int(modified), int(changed)), str(checksum))
                for algorithm, path, inode, size, modified, changed, checksum in rows
            }
        except (OSError, ValueError, TypeError, RecursionError):
            return {}

    def _write(self) -> None:
        """Remember what is known of large files that are still as they were."""
        lasting = {key: known for key, known in (self._known or {}).items() if key not in self._fresh}
        known = {**self._read(), **lasting}
        rows = [
            [algorithm, path, *state, checksum]
            for (algorithm, path), (state, checksum) in known.items()
            if state[1] >= LEAST_BYTES and _is(Path(path), state)
        ]
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._path, json.dumps(rows[-MOST_FILES:], indent=0).encode())


@functools.cache
def own_checksums() -> Checksums:
    """Those that this program remembers."""
    return Checksums(caches_folder() / "checksums.json")


def digest_of(path: Path) -> str:
    """SHA-256 of a file that is asked for with every step; see :class:`Checksums`.

    Raises:
        OSError: it cannot be read.
    """
    return own_checksums().of(path, "sha256")


def published_sum_of(path: Path) -> str:
    """CRC-32 of a file that is asked for with every step, and may be of gigabytes; see :class:`Checksums`.

    Raises:
        OSError: it cannot be read.
    """
    return own_checksums().of(path, "crc32")


def _state(path: Path) -> State:
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _is(path: Path, state: State) -> bool:
    with contextlib.suppress(OSError):
        return _state(path) == state
    return False


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk
