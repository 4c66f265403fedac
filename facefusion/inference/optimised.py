"""Graphs as ONNX Runtime optimised them, kept on disk.

Most of the time that a graph takes to load goes into folding constants, fusing nodes and laying weights out for the
processor, and most of the memory into reading the weights twice. So what came out of it is written down once, the
constants in a file of their own, which ONNX Runtime maps into memory instead of reading it. Runs give the same bits.
Record 0036 has the measurements.
"""

from __future__ import annotations

import hashlib
import json
import logging
import mmap
import shutil
from dataclasses import replace
from pathlib import Path

from facefusion.catalogue.checksums import digest_of
from facefusion.core.errors import ModelError, ResourceError
from facefusion.core.instruction_sets import instruction_sets
from facefusion.inference.kept import GRAPH, discard, draft_in, is_kept, is_plain, is_sound, make_room, note_use, seal
from facefusion.inference.session import LoadRequest, OrtSession, Session, SessionLoader
from facefusion.observability.events import EventSink, Notice

logger = logging.getLogger(__name__)

FORMAT = 2
"""Counts up when graphs are kept in another way."""

LEAST_BYTES = 64 << 10
"""Of a model's file. Smaller graphs load in a few milliseconds anyway."""

MOST_BYTES = 8 << 30
"""Of all kept graphs together: all models that a run can use at once, several times."""

SPARE_BYTES = 1 << 30
"""Free space of the disk that is left alone."""

_ELSEWHERE = b"\x0a\x08location\x12"
"""How ONNX says that constants lie in another file: those are not part of the model's digest."""


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
        if is_kept(place) or not self._keep(request, place):
            return self._load(request)
        return self._kept(request, place) or self._load(request)

    def _key(self, request: LoadRequest) -> str:
        """Follows from everything that the graph is made from."""
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
        if not is_kept(place) or is_plain(place):
            return None
        try:
            if is_sound(place):
                session = self._load(replace(request, optimised=place / GRAPH))
                note_use(place)
                return session
        except PermissionError as error:
            logger.info("%s: the optimised graph is another user's: %s", request.model.name, error)
            return None
        except (OSError, ValueError, LookupError, TypeError, ModelError) as error:
            fault = error.fault if isinstance(error, ModelError) else error
            logger.info("%s: the optimised graph in %s cannot be used: %s", request.model.name, place, fault)
        if is_kept(place):  # else another process has just removed it, to make room
            discard(place)
            found = f"The optimised graph of {request.model.name} in {place}"
            message = f"{found} was damaged; it is made again."
            if is_kept(place):
                message = f"{found} is damaged and cannot be removed, so it is not used. Remove that folder."
            self._events.emit(Notice(message, warning=True))
        return None

    def _keep(self, request: LoadRequest, place: Path) -> bool:
        """Optimise the graph and keep it; returns whether it is kept now."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            if shutil.disk_usage(self._folder).free < SPARE_BYTES + 2 * _size(request):
                logger.info("%s is not kept optimised: too little free space", request.model.name)
                return False
            with draft_in(self._folder) as draft:
                if not _refers_elsewhere(request.model.path):
                    self._write(request, draft)
                seal(draft, place)
            make_room(self._folder, self._most_bytes, newest=place)
        except (OSError, ResourceError) as error:
            logger.info("%s is not kept optimised in %s: %s", request.model.name, self._folder, error)
            return False
        return True

    def _write(self, request: LoadRequest, draft: Path) -> None:
        """Let ONNX Runtime write the graph that it optimised; nothing where it cannot.

        Raises:
            OSError: it broke off in the middle, as of a full disk; another time it may come to an end.
            ResourceError: there is no memory left for it.
        """
        try:
            self._load(replace(request, kept_as=draft / GRAPH))
        except ModelError as error:
            # Where the model itself is at fault, loading it by itself says so.
            if any(draft.iterdir()):
                raise OSError(error.fault) from error
            logger.info("%s cannot be kept optimised: %s", request.model.name, error.fault)


def _size(request: LoadRequest) -> int:
    try:
        return request.model.path.stat().st_size
    except OSError:
        return 0  # loading it says what is wrong


def _refers_elsewhere(path: Path) -> bool:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(_ELSEWHERE) >= 0
