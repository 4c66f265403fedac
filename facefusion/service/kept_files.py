"""One kind of files on storage that several machines share, each in a folder of its own, with what is known of it.

::

    <folder>/<id>/<sha256><extension>    the content
    <folder>/<id>/about.json             what is known of it; without this there is no such entry

A content is there, whole and on the disk, before ``about.json`` names it, so whoever finds an entry finds all of it,
however many machines write. What a process that ended left unfinished is swept away later.
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, get_args, get_type_hints

from facefusion.core.storage import FULL, flush, flush_folder
from facefusion.service.errors import ServiceUnavailableError, StorageFullError

logger = logging.getLogger(__name__)


class Content(Protocol):
    """What is known of every file."""

    @property
    def sha256(self) -> str:
        """Of the content, in hexadecimal digits."""

    @property
    def size(self) -> int:
        """Bytes."""

    @property
    def extension(self) -> str:
        """With its dot."""


AboutT = TypeVar("AboutT", bound=Content)

FORMAT = 1
"""Of ``about.json``."""

ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,63}")
DIGEST = re.compile(r"[0-9a-f]{64}")
EXTENSION = re.compile(r"\.[0-9a-z]{1,8}")
ABOUT = "about.json"
PART = ".part"

PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600
TRIES = 5
"""Of removing a folder into which another machine puts a file at the same moment."""


class Abouts(Generic[AboutT]):
    """How what is known of a file is written in JSON, and read.

    Args:
        kind: a dataclass of words and numbers, some of which may be none.
    """

    def __init__(self, kind: type[AboutT]) -> None:
        self._kind = kind
        self._types = {name: _types_of(hint) for name, hint in get_type_hints(kind).items()}

    def written(self, about: AboutT) -> dict[str, object]:
        """Fit for JSON."""
        return {name: getattr(about, name) for name in self._types}

    def read(self, written: object) -> AboutT:
        """The way back; fields that nobody knows are passed over.

        Raises:
            ValueError: a field holds something else.
            TypeError: a field lacks.
        """
        if not isinstance(written, dict):
            raise ValueError("no fields")
        fields = {name: value for name, value in written.items() if name in self._types}
        strange = [name for name, value in fields.items() if not isinstance(value, self._types[name])]
        if strange:
            raise ValueError(f"strange values of {', '.join(strange)}")
        return self._kind(**fields)


def _types_of(hint: Any) -> tuple[type, ...]:  # noqa: ANN401 - whatever an annotation is
    """The types that a value in JSON may have for an annotation; a whole number stands for any number."""
    types = get_args(hint) or (hint,)
    return (*types, int) if float in types else types


@dataclass(frozen=True, slots=True)
class _Document(Generic[AboutT]):
    """What ``about.json`` holds."""

    file: str
    """Name of the content."""
    about: AboutT


class KeptFiles(Generic[AboutT]):
    """The files of one kind.

    Args:
        folder: theirs; it is made with the first one.
        kind: what is known of each, a dataclass.
    """

    def __init__(self, folder: Path, kind: type[AboutT]) -> None:
        self._folder = folder
        self._abouts = Abouts(kind)

    def put(self, entry: str, file: Path, about: AboutT) -> None:
        """Keep a file, which is moved. What is known of another one under the same id is replaced at once and whole.

        Args:
            entry: its id.
            file: on this storage or on another.
            about: what is known of it.

        Raises:
            ValueError: the id, the digest or the extension is none.
            StorageFullError: there is no room.
            ServiceUnavailableError: the storage cannot be written to.
        """
        name = checked_name(entry, about)
        with told():
            folder = make_private(self._folder / entry)
            part = folder / f"{secrets.token_hex(8)}{PART}"
            try:
                _move(file, part)
                part.chmod(PRIVATE_FILE)
                flush(part)
                part.replace(folder / name)
                document = {"format": FORMAT, "file": name, "about": self._abouts.written(about)}
                part.touch(PRIVATE_FILE)
                part.write_bytes(json.dumps(document).encode())
                flush(part)
                part.replace(folder / ABOUT)
            finally:
                part.unlink(missing_ok=True)
            flush_folder(folder)
            flush_folder(self._folder)

    def about(self, entry: str) -> AboutT | None:
        """What is known of a file; none where there is none.

        Raises:
            ServiceUnavailableError: the storage cannot be read.
        """
        document = self._document(entry)
        return None if document is None else document.about

    def path(self, entry: str) -> Path | None:
        """Where the content lies; none where there is none.

        Raises:
            ServiceUnavailableError: the storage cannot be read.
        """
        document = self._document(entry)
        return None if document is None else self._folder / entry / document.file

    def content(self, entry: str, about: AboutT) -> Path | None:
        """Where one of the contents lies that were put under an id; none where the entry was erased.

        Raises:
            ServiceUnavailableError: the storage cannot be read.
        """
        return None if self._document(entry) is None else self._folder / entry / name_of(about)

    def ids(self) -> list[str]:
        """Of all entries, and of those that are being made or removed.

        Raises:
            ServiceUnavailableError: the storage cannot be read.
        """
        with told():
            if not self._folder.is_dir():
                return []
            return sorted(path.name for path in self._folder.iterdir() if ID.fullmatch(path.name))

    def erase(self, entry: str) -> None:
        """Remove a file and what is known of it. Harmless where there is none.

        Raises:
            ServiceUnavailableError: the storage does not remove it.
        """
        if ID.fullmatch(entry) is None:
            return
        folder = self._folder / entry
        with told():
            (folder / ABOUT).unlink(missing_ok=True)
            remove_folder(folder)

    def sweep(self, seconds: float) -> int:
        """Remove what was left unfinished and has not changed for so long; how many files.

        Contents stay as long as their entry: of several the last one that came need not be the one that counts.
        """
        removed = 0
        for entry in self.ids():
            folder, is_known = self._folder / entry, self._document(entry) is not None
            with told():
                for path in _old(folder, seconds):
                    if path.name != ABOUT and not (is_known and is_content(path.name)):
                        path.unlink(missing_ok=True)
                        removed += 1
                if not is_known and _age(folder) > seconds:
                    with contextlib.suppress(OSError):  # something was put into it just now
                        folder.rmdir()
        return removed

    def _document(self, entry: str) -> _Document[AboutT] | None:
        if ID.fullmatch(entry) is None:
            return None
        path = self._folder / entry / ABOUT
        try:
            data = json.loads(path.read_bytes())
            if data["format"] != FORMAT or not data["file"]:
                raise ValueError(f"format {data['format']}")
            return _Document(Path(data["file"]).name, self._abouts.read(data["about"]))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise unavailable(error) from error
        except (ValueError, KeyError, TypeError) as error:
            logger.warning("what is known of %s cannot be read, and it counts as erased: %s", entry, error)
            return None


def name_of(about: Content) -> str:
    """Of a content, beside what is known of it."""
    return f"{about.sha256}{about.extension}"


def checked_name(entry: str, about: Content) -> str:
    """The same, of one that is to be put under an id.

    Raises:
        ValueError: the id, the digest or the extension is none.
    """
    if not (ID.fullmatch(entry) and DIGEST.fullmatch(about.sha256) and EXTENSION.fullmatch(about.extension)):
        raise ValueError(f"no id, digest and extension: {entry!r}, {about.sha256!r}, {about.extension!r}")
    return name_of(about)


def is_content(name: str) -> bool:
    """Whether a file beside what is known of an entry is a content of it, and no part of one."""
    return DIGEST.fullmatch(name.partition(".")[0]) is not None


def make_private(folder: Path) -> Path:
    """A folder that only its owner looks into; those above it too, as far as they are not there.

    Raises:
        OSError: it cannot be made.
    """
    if not folder.parent.is_dir():
        make_private(folder.parent)
    folder.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
    return folder


def remove_folder(folder: Path) -> None:
    """Remove a folder with all that is in it. Harmless where there is none.

    Raises:
        OSError: the system does not remove it.
    """
    for _ in range(TRIES):
        try:
            shutil.rmtree(folder)
        except FileNotFoundError:
            if not folder.exists():
                return  # else another machine removes it too
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        else:
            return
    shutil.rmtree(folder)


@contextlib.contextmanager
def told() -> Iterator[None]:
    """What the system says of the storage, in words for clients, who learn no path.

    Raises:
        StorageFullError: it is full.
        ServiceUnavailableError: it cannot be used.
    """
    try:
        yield
    except OSError as error:
        raise unavailable(error) from error


def unavailable(error: OSError) -> StorageFullError | ServiceUnavailableError:
    """See :func:`told`."""
    if error.errno in FULL:
        return StorageFullError("the storage of the service is full", "Try again later.")
    logger.error("the storage cannot be used: %s", error)
    return ServiceUnavailableError("the storage of the service cannot be used", "Try again later.")


def newest_change(folder: Path) -> float:
    """When a folder, or something right in it, last changed, in seconds since 1970; 0 where it is gone."""
    newest = 0.0
    with contextlib.suppress(FileNotFoundError):
        for path in (folder, *folder.iterdir()):
            with contextlib.suppress(FileNotFoundError):
                newest = max(newest, path.lstat().st_mtime)
    return newest


def _age(folder: Path) -> float:
    return time.time() - newest_change(folder)


def _old(folder: Path, seconds: float) -> Iterator[Path]:
    """What lies in a folder and has not changed for so long."""
    with contextlib.suppress(FileNotFoundError):
        for path in list(folder.iterdir()):
            with contextlib.suppress(FileNotFoundError):
                if time.time() - path.lstat().st_mtime > seconds:
                    yield path


def _move(file: Path, part: Path) -> None:
    try:
        file.rename(part)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        shutil.copyfile(file, part)
        file.unlink()
