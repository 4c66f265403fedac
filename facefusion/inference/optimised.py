"""Graphs as ONNX Runtime optimised them, kept on disk.

Most of the time that a graph takes to load goes into folding constants, fusing nodes and laying weights out for the
processor, and most of the memory into reading the weights twice. So what came out of it is written down once, the
constants in a file of their own, which ONNX Runtime maps into memory instead of reading it. Runs give the same bits.
Record 0036 has the measurements.

A kept graph is a folder: ``graph.onnx``, ``weights.bin``, and ``record.json``, which is written last. The folder's name
follows from everything that the graph was made from.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import mmap
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from facefusion.catalogue.checksums import digest_of, sha256_of
from facefusion.core.errors import ModelError, ResourceError
from facefusion.core.instruction_sets import instruction_sets
from facefusion.core.storage import flush, write_whole
from facefusion.inference.session import LoadRequest, OrtSession, Session, SessionLoader
from facefusion.observability.events import EventSink, Notice

logger = logging.getLogger(__name__)

GRAPH, RECORD = "graph.onnx", "record.json"

FORMAT = 1
"""Counts up when graphs are kept in another way."""

LEAST_BYTES = 64 << 10
"""Of a model's file. Smaller graphs load in a few milliseconds anyway."""

MOST_BYTES = 8 << 30
"""Of all kept graphs together: all models that a run can use at once, several times."""

SPARE_BYTES = 1 << 30
"""Free space of the disk that is left alone."""

UNFINISHED = ".part-"
"""How the names of folders begin in which a graph is being written, or from which one is being removed."""

_ELSEWHERE = b"\x0a\x08location\x12"
"""How ONNX says that constants lie in another file: those are not part of the model's digest."""


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
        return cls(path.name, sha256_of(path), status.st_size, status.st_mtime_ns)

    def is_untouched(self, folder: Path) -> bool:
        """Whether the file has the size and the time of change that it was recorded with.

        Raises:
            OSError: it is not there.
        """
        status = (folder / self.name).stat()
        return (status.st_size, status.st_mtime_ns) == (self.bytes, self.modified)


class OptimisedGraphs:
    """Loads graphs for the processor, and keeps them optimised. A :data:`SessionLoader`; thread-safe.

    Several processes may share the folder.

    Args:
        folder: where they are kept; made where it is not there.
        version: of ONNX Runtime.
        events: told of kept graphs that were damaged.
        most_bytes: beyond which those that were not used for longest are removed.
        load: makes a session; another function in tests.
    """

    def __init__(
        self,
        folder: Path,
        version: str,
        events: EventSink,
        *,
        most_bytes: int = MOST_BYTES,
        load: SessionLoader = OrtSession,
    ) -> None:
        self._folder = folder
        self._version = version
        self._events = events
        self._most_bytes = most_bytes
        self._load = load

    def __call__(self, request: LoadRequest) -> Session:
        """Load a graph: as it was kept, or from the model's file, and then keep it.

        Raises:
            ModelError: the model's file cannot be read as a graph, or cannot be run.
            ProviderError: the provider asked for could not be had for this graph.
            DeviceMemoryError: no memory was left for it.
        """
        if not request.is_for_the_processor or _size(request) < LEAST_BYTES:
            return self._load(request)
        place = self._folder / self._key(request)
        kept = self._kept(request, place)
        if kept is not None:
            return kept
        if self._is_plain(place) or not self._keep(request, place):
            return self._load(request)
        return self._kept(request, place) or self._load(request)

    def _key(self, request: LoadRequest) -> str:
        recipe = {
            "format": FORMAT,
            "model": digest_of(request.model.path),
            "version": self._version,
            "processor": instruction_sets(),
            "providers": [(provider.name, chosen.to_runtime()) for provider, chosen in request.providers],
        }
        return hashlib.sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest()[:32]

    def _kept(self, request: LoadRequest, place: Path) -> Session | None:
        """Load the graph kept in ``place``, if a sound one is; what is damaged is removed."""
        if not (place / RECORD).is_file() or self._is_plain(place):
            return None
        try:
            if _is_sound(place):
                session = self._load(replace(request, optimised=place / GRAPH))
                with contextlib.suppress(OSError):  # where others wrote it, for all to read
                    os.utime(place / RECORD)
                return session
        except (OSError, ValueError, LookupError, TypeError, ModelError) as error:
            logger.info("%s: the optimised graph in %s cannot be used: %s", request.model.name, place, error)
        if (place / RECORD).is_file():  # else another process has just removed it, to make room
            message = f"The optimised graph of {request.model.name} in {place} was damaged; it is made again."
            self._events.emit(Notice(message, warning=True))
            _remove(place)
        return None

    def _is_plain(self, place: Path) -> bool:
        """Whether a graph was found to be one that is not kept."""
        with contextlib.suppress(OSError, ValueError):
            return bool(json.loads((place / RECORD).read_text(encoding="utf-8")) == [])
        return False

    def _keep(self, request: LoadRequest, place: Path) -> bool:
        """Optimise the graph and keep it; returns whether it is kept now."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            if shutil.disk_usage(self._folder).free < SPARE_BYTES + 2 * _size(request):
                logger.info("%s is not kept optimised: too little free space", request.model.name)
                return False
            with _draft(self._folder) as draft:
                files: list[KeptFile] = []
                if not _refers_elsewhere(request.model.path) and self._write(request, draft):
                    files = [KeptFile.of(path) for path in sorted(draft.iterdir())]
                for file in files:
                    flush(draft / file.name)
                _save(draft, files)
                with contextlib.suppress(FileExistsError):
                    _move(draft, place)
            self._make_room(place)
        except (OSError, ResourceError) as error:
            logger.info("%s is not kept optimised in %s: %s", request.model.name, self._folder, error)
            return False
        return True

    def _write(self, request: LoadRequest, draft: Path) -> bool:
        """Let ONNX Runtime write the graph that it optimised; returns whether it can.

        Raises:
            ResourceError: there is no memory left for it.
        """
        try:
            self._load(replace(request, kept_as=draft / GRAPH))
        except ModelError as error:
            # Where the model itself is at fault, loading it by itself says so.
            logger.info("%s cannot be kept optimised: %s", request.model.name, error)
            return False
        return True

    def _make_room(self, newest: Path) -> None:
        places = [place for place in self._folder.iterdir() if not place.name.startswith(UNFINISHED)]
        sizes = {place: _bytes(place) for place in places}
        total = sum(sizes.values())
        for place in sorted(sizes, key=_last_used):
            if total <= self._most_bytes:
                return
            if place != newest:
                _remove(place)
                total -= sizes[place]


def _size(request: LoadRequest) -> int:
    try:
        return request.model.path.stat().st_size
    except OSError:
        return 0  # loading it says what is wrong


def _refers_elsewhere(path: Path) -> bool:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(_ELSEWHERE) >= 0


def _is_sound(place: Path) -> bool:
    """Whether what lies in a folder is what was written there; reads it where sizes or times differ from the record.

    Raises:
        OSError: a file is not there.
        ValueError, LookupError, TypeError: the record cannot be read.
    """
    files = [KeptFile(**table) for table in json.loads((place / RECORD).read_text(encoding="utf-8"))]
    if all(file.is_untouched(place) for file in files):
        return True
    found = [KeptFile.of(place / file.name) for file in files]
    if [file.sha256 for file in found] != [file.sha256 for file in files]:
        return False
    with contextlib.suppress(OSError):
        _save(place, found)  # so that it is not read again: it was copied from elsewhere
    return True


@contextlib.contextmanager
def _draft(folder: Path) -> Iterator[Path]:
    draft = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=folder))
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _move(draft: Path, place: Path) -> None:
    """Give a folder its name.

    Raises:
        FileExistsError: another process was faster.
    """
    try:
        draft.rename(place)
    except OSError as error:
        if place.is_dir():
            raise FileExistsError from error
        raise


def _remove(place: Path) -> None:
    """Remove a folder: first its name, so that nobody opens half of it. A file that is mapped stays until it is not."""
    gone = place.with_name(f"{UNFINISHED}{place.name}-{os.getpid()}")
    with contextlib.suppress(OSError):  # another process does it, or Windows still maps the file
        place.rename(gone)
        shutil.rmtree(gone)


def _save(folder: Path, files: Sequence[KeptFile]) -> None:
    write_whole(folder / RECORD, json.dumps([asdict(file) for file in files]).encode())


def _bytes(place: Path) -> int:
    with contextlib.suppress(OSError):
        return sum(path.stat().st_size for path in place.iterdir())
    return 0


def _last_used(place: Path) -> int:
    with contextlib.suppress(OSError):
        return (place / RECORD).stat().st_mtime_ns
    return 0
