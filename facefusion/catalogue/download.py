"""Downloading one file from a public address: resumed, retried a few times, verified."""

from __future__ import annotations

import errno
import http.client
import os
import re
import shutil
import urllib.error
import urllib.request
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, TypeVar, cast

from facefusion.catalogue.beside import beside
from facefusion.catalogue.card import Download
from facefusion.catalogue.checksums import crc32_of, sha256_of
from facefusion.catalogue.impostor import impostor
from facefusion.catalogue.source import SourceError, Transfer, UnreachableError
from facefusion.core.stop import StopToken
from facefusion.observability.events import EventSink

ATTEMPTS = 4
FIRST_PAUSE = 1.0
"""Seconds before the second attempt; each further pause is twice as long."""
TIMEOUT = 30.0
"""Seconds without a byte after which an attempt is given up."""
_CHUNK = 1 << 16
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Answers that may be another one a little later."""
_RANGE_REFUSED = 416
_REDIRECTION = 3
"""First digit of the answers that name another address."""
_TEXT_LIMIT = 1 << 10
"""Bytes of a text; what is longer is none."""

ResultT = TypeVar("ResultT")
Sleep: TypeAlias = Callable[[float], object]


class _PassingError(Exception):
    """This attempt failed; the next may not."""


class _NoConnectionError(_PassingError):
    """The server cannot be reached."""


class _RangeRefusedError(_PassingError):
    """The server has no such part of the file; the next attempt asks for all of it."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of what the server sends."""

    position: int
    """Where in the file it belongs."""
    data: bytes
    total: int | None
    """Size of the whole file; none where the server does not say."""


def download_file(
    source: Download, folder: Path, events: EventSink, sleep: Sleep | None = None, *, stop: StopToken | None = None
) -> Path:
    """Download into ``folder``, under a name made of the hash; what an earlier call left unfinished is continued.

    Returns:
        The whole and verified file. The caller deletes or moves it.

    Raises:
        UnreachableError: there is no way to the server.
        SourceError: the address does not deliver, or delivers something else.
        OSError: the file cannot be written.
        Stopped: a stop was asked for; what is there already is continued by the next call.
    """
    stop = stop or StopToken()
    name = source.url.rpartition("/")[2]
    # A CRC-32 alone is too short to tell all files apart.
    label = source.sha256[:16] if source.sha256 else f"{source.crc32}-{name}"
    path = folder / f".{label}.part"
    with Transfer(f"Fetching {name}", source.bytes, events, stop) as transfer:
        _tried(lambda: _attempt(source, path, transfer, stop), stop, sleep)
    return path


def download_text(url: str, sleep: Sleep | None = None, *, stop: StopToken | None = None) -> str:
    """Download a text of a few words, without the space around it.

    Raises:
        UnreachableError: there is no way to the server.
        SourceError: the address does not deliver, or something longer.
        Stopped: a stop was asked for.
    """
    stop = stop or StopToken()

    def receive() -> bytes:
        source = Download(url, None, _TEXT_LIMIT)
        with closing(beside(_arrivals(source, 0), stop)) as pieces:
            return b"".join(piece.data for piece in pieces)

    data = _tried(receive, stop, sleep)
    if len(data) > _TEXT_LIMIT:
        raise SourceError("the file there is longer than it can be")
    return data.decode("utf-8", errors="replace").strip()


def _tried(attempt: Callable[[], ResultT], stop: StopToken, sleep: Sleep | None) -> ResultT:
    pause = stop.sleep if sleep is None else sleep
    failed = 0
    while True:
        try:
            return attempt()
        except _PassingError as error:
            failed += 1
            if failed == ATTEMPTS:
                kind = UnreachableError if isinstance(error, _NoConnectionError) else SourceError
                raise kind(f"{error} ({ATTEMPTS} attempts)") from error
        pause(FIRST_PAUSE * 2 ** (failed - 1))


def _attempt(source: Download, path: Path, transfer: Transfer, stop: StopToken) -> None:
    started_at = path.stat().st_size if path.exists() else 0
    total = source.bytes
    if total is None and started_at and not _fault(path, source):
        return
    if total is not None and started_at > total:
        path.unlink()
        started_at = 0
    if total is None or started_at < total:
        total = _receive(source, path, started_at, transfer, stop)
    size = path.stat().st_size
    if total is not None and size < total:
        raise _PassingError(f"the connection ended after {size} of {total} bytes")
    fault = "size" if total is not None and size > total else _fault(path, source)
    if fault:
        instead = impostor(path)
        path.unlink()
        if started_at:
            # What an earlier run left may have been damaged, not the source.
            raise _PassingError("the continued file is not what it should be")
        reason = f"it is {instead}" if instead else f"its {fault} differs"
        raise SourceError(f"the file there is not what it should be ({reason})")


def _fault(path: Path, source: Download) -> str:
    """By what the file is known to be another one; empty where it is the right one."""
    if source.sha256 is not None:
        return "" if sha256_of(path) == source.sha256 else "SHA-256"
    return "" if crc32_of(path) == source.crc32 else "CRC-32"


def _receive(source: Download, path: Path, start: int, transfer: Transfer, stop: StopToken) -> int | None:
    """Receive the file from ``start`` on, or from its beginning; gives its size, as far as that is known."""
    with closing(beside(_arrivals(source, start), stop)) as arrivals:
        try:
            first = next(arrivals)
        except _RangeRefusedError:
            path.unlink(missing_ok=True)
            raise
        transfer.expect(first.total)
        _check_room(path.parent, first)
        with path.open("ab" if first.position else "wb") as file:
            for piece in arrivals:
                file.write(piece.data)
                transfer.at(piece.position + len(piece.data))
    return first.total


def _check_room(folder: Path, begin: _Piece) -> None:
    if begin.total is not None and shutil.disk_usage(folder).free < begin.total - begin.position:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _arrivals(source: Download, start: int) -> Generator[_Piece, None, None]:
    """What the server sends: first nothing, at the place that it begins from, then each piece."""
    with _opened(source, start) as response:
        span = re.fullmatch(rf"bytes {start}-\d+/(\d+|\*)", response.getheader("Content-Range") or "")
        continued = response.status == http.client.PARTIAL_CONTENT and span is not None
        if response.status == http.client.PARTIAL_CONTENT and not continued:
            raise _RangeRefusedError("the server sends another part of the file than it was asked for")
        position = start if continued else 0
        total = source.bytes
        if total is None:
            announced = span[1] if continued and span else response.getheader("Content-Length") or ""
            total = int(announced) if announced.isdecimal() else None
        yield _Piece(position, b"", total)
        # One byte more than expected is enough to know that it is another file.
        while (total is None or position <= total) and (chunk := _chunk(response)):
            yield _Piece(position, chunk, total)
            position += len(chunk)


def _opened(source: Download, start: int) -> http.client.HTTPResponse:
    request = urllib.request.Request(source.url, headers={"User-Agent": "facefusion"})
    if start:
        request.add_header("Range", f"bytes={start}-")
    try:
        return cast("http.client.HTTPResponse", urllib.request.urlopen(request, timeout=TIMEOUT))
    except urllib.error.HTTPError as error:
        error.close()
        answer = f"the server answers {error.code} {error.reason}"
        if error.code // 100 == _REDIRECTION:
            answer = "the server redirects and never arrives"
        if error.code == _RANGE_REFUSED:
            raise _RangeRefusedError(answer) from error
        if error.code not in _PASSING:
            raise SourceError(answer) from error
        raise _PassingError(answer) from error
    except (OSError, http.client.HTTPException) as error:
        raise _NoConnectionError(_broken(error)) from error


def _chunk(response: http.client.HTTPResponse) -> bytes:
    # Told apart from errors of the file that is written, which end the download.
    try:
        return response.read(_CHUNK)
    except (OSError, http.client.HTTPException) as error:
        raise _PassingError(_broken(error)) from error


def _broken(error: Exception) -> str:
    return f"no connection ({getattr(error, 'reason', error)})"
