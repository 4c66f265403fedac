"""What decides a session: the complete key it is kept under."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from facefusion.catalogue.checksums import digest_of
from facefusion.core.errors import ModelError
from facefusion.inference.session import LoadRequest


@dataclass(frozen=True, slots=True)
class SessionKey:
    """Everything that decides what a session computes and where. Two equal keys may share one session."""

    model: str
    """SHA-256 of the graph."""
    providers: tuple[tuple[str, str], ...]
    """Every provider that may be tried, with all of its options, in order."""
    device: int
    threads: int


def session_key(requests: tuple[LoadRequest, ...], *, digest: str, device: int) -> SessionKey:
    """The key of a session that is the first of ``requests`` that works."""
    return SessionKey(
        model=digest,
        providers=tuple(
            # In full: not all of them are told to ONNX Runtime.
            (provider.name, repr(chosen))
            for request in requests
            for provider, chosen in request.providers
        ),
        device=device,
        threads=requests[0].model.threads,
    )


LOOK_SECONDS = 1.0
"""After which a file is looked at again, whether it changed: graphs are run hundreds of times a second."""


class FileDigests:
    """SHA-256 of files, each looked at once a second at most. Thread-safe.

    Args:
        clock: monotonic seconds; another one in tests.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._looked: dict[Path, tuple[float, str]] = {}
        """When a file was last looked at, and its digest then."""

    def digest(self, path: Path) -> str:
        """SHA-256 of a file's content, in hexadecimal.

        Raises:
            ModelError: the file cannot be read.
        """
        now = self._clock()
        looked = self._looked.get(path)
        if looked is not None and now - looked[0] < LOOK_SECONDS:
            return looked[1]
        digest = self._read(path)
        self._looked[path] = now, digest
        return digest

    def look_again(self) -> None:
        """Look at every file anew when next asked, however short the time."""
        self._looked.clear()

    def _read(self, path: Path) -> str:
        try:
            return digest_of(path)
        except OSError as error:
            raise ModelError(
                f"the model file {path} cannot be read ({error.strerror})", "Fetch it with force-download."
            ) from error
