"""One kind of files in a bucket, each with what is known of it; what :mod:`.kept_files` is for a folder.

::

    <kind>/<id>/<sha256><extension>    the content
    <kind>/<id>/about.json             what is known of it; without this there is no such entry

A content is there whole before ``about.json`` names it, so whoever finds an entry finds all of it, however many
machines write. What a process that ended left unfinished is swept away later.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Generic

from facefusion.service.bucket import Bucket, Stored
from facefusion.service.kept_files import (
    ABOUT,
    DIGEST,
    FORMAT,
    ID,
    Abouts,
    AboutT,
    checked_name,
    is_content,
    name_of,
    told,
)

logger = logging.getLogger(__name__)

READERS = 8
"""Of small objects that are read at a time: each takes as long as the way there and back."""


@dataclass(frozen=True, slots=True)
class Kept(Generic[AboutT]):
    """A file, and what is known of it."""

    key: str
    """Of its content."""
    size: int
    """Bytes."""
    sha256: str
    extension: str
    """With its dot."""
    about: AboutT


@dataclass(frozen=True, slots=True)
class Entry(Generic[AboutT]):
    """All that lies under one id."""

    id: str
    kept: Kept[AboutT] | None
    """None where it is being made or removed, or was left so."""
    objects: tuple[Stored, ...]


class KeptObjects(Generic[AboutT]):
    """The files of one kind. Thread-safe.

    Every method raises ``ServiceUnavailableError`` where the storage cannot be used.

    Args:
        bucket: where they are.
        kind: first part of their keys.
        about: what is known of each, a dataclass.
    """

    def __init__(self, bucket: Bucket, kind: str, about: type[AboutT]) -> None:
        self._bucket = bucket
        self._kind = kind
        self._abouts = Abouts(about)
        self._lock = threading.Lock()
        self._read: dict[str, tuple[str, Kept[AboutT] | None]] = {}
        """By id: the tag of ``about.json``, and what stands there."""

    def put(self, entry: str, file: Path, about: AboutT) -> None:
        """Keep a file, which is moved. What is known of another one under the same id is replaced at once and whole.

        Args:
            entry: its id.
            file: on this machine.
            about: what is known of it.

        Raises:
            ValueError: the id, the digest or the extension is none.
        """
        name = checked_name(entry, about)
        with told():
            document = {
                "format": FORMAT,
                "file": name,
                "size": file.stat().st_size,
                "about": self._abouts.written(about),
            }
            self._bucket.put_file(f"{self._kind}/{entry}/{name}", file)
            self._bucket.put(f"{self._kind}/{entry}/{ABOUT}", json.dumps(document).encode())
            file.unlink()

    def find(self, entry: str) -> Kept[AboutT] | None:
        """A file; none where there is none."""
        if ID.fullmatch(entry) is None:
            return None
        found = self._bucket.get(f"{self._kind}/{entry}/{ABOUT}")
        kept = None if found is None else self._parse(entry, found[0])
        with self._lock:
            if found is None:
                self._read.pop(entry, None)
            else:
                self._read[entry] = (found[1], kept)
        return kept

    def content(self, entry: str, about: AboutT) -> Kept[AboutT] | None:
        """One of the contents that were put under an id; none where the entry was erased."""
        kept = self.find(entry)
        if kept is None:
            return None
        return Kept(f"{self._kind}/{entry}/{name_of(about)}", about.size, about.sha256, about.extension, about)

    def ids(self) -> list[str]:
        """Of all entries, and of those that are being made or removed."""
        return [name for name in self._bucket.names(self._kind) if ID.fullmatch(name)]

    def find_all(self, entries: Iterable[str]) -> Iterator[tuple[str, Kept[AboutT] | None]]:
        """Many files at a time."""
        names = list(entries)
        with ThreadPoolExecutor(READERS, "objects") as readers:
            yield from zip(names, readers.map(self.find, names), strict=True)

    def entries(self) -> list[Entry[AboutT]]:
        """All that lies there. What is known of a file is read anew only where it was written anew."""
        below: dict[str, tuple[Stored, ...]] = {}
        for name, group in groupby(sorted(self._bucket.walk(self._kind), key=lambda one: one.key), self._id_of):
            below[name] = tuple(group)
        tags = {
            name: each.tag for name, group in below.items() for each in group if each.key.rpartition("/")[2] == ABOUT
        }
        with self._lock:
            known = {name: self._read[name][1] for name, tag in tags.items() if self._is_read(name, tag)}
            self._read = {name: self._read[name] for name in known}
        known |= dict(self.find_all(name for name in tags if name not in known))
        return [Entry(name, known.get(name), group) for name, group in below.items()]

    def erase(self, entry: str) -> None:
        """Remove a file and what is known of it. Harmless where there is none."""
        if ID.fullmatch(entry) is None:
            return
        about = f"{self._kind}/{entry}/{ABOUT}"
        self._bucket.delete([about])
        self._bucket.delete(each.key for each in self._bucket.walk(f"{self._kind}/{entry}"))
        with self._lock:
            self._read.pop(entry, None)

    def sweep(self, entries: Iterable[Entry[AboutT]], before: float) -> int:
        """Remove what was left unfinished and has not changed since a moment.

        Contents stay as long as their entry: of several the last one that came need not be the one that counts.

        Args:
            entries: all that lies there.
            before: the moment, in seconds since 1970.

        Returns:
            How many objects.
        """
        stale = []
        for entry in entries:
            is_known = entry.kept is not None
            stale += [each.key for each in entry.objects if each.changed < before and not (is_known and _is_kept(each))]
        self._bucket.delete(stale)
        return len(stale)

    def _is_read(self, entry: str, tag: str) -> bool:
        return bool(tag) and entry in self._read and self._read[entry][0] == tag

    def _id_of(self, each: Stored) -> str:
        return each.key.removeprefix(f"{self._kind}/").partition("/")[0]

    def _parse(self, entry: str, data: bytes) -> Kept[AboutT] | None:
        try:
            document: dict[str, Any] = json.loads(data)
            name = Path(document["file"]).name
            sha256, _, ending = name.partition(".")
            if document["format"] != FORMAT or not DIGEST.fullmatch(sha256):
                raise ValueError(f"format {document['format']}")
            size, about = int(document["size"]), self._abouts.read(document["about"])
        except (ValueError, KeyError, TypeError) as error:
            logger.warning("what is known of %s cannot be read, and it counts as erased: %s", entry, error)
            return None
        return Kept(f"{self._kind}/{entry}/{name}", size, sha256, f".{ending}", about)


def _is_kept(each: Stored) -> bool:
    name = each.key.rpartition("/")[2]
    return name == ABOUT or is_content(name)
