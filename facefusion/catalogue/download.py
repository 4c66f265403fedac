"""Downloading one file from a public address: resumed, retried a few times, verified."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path
from typing import cast

from facefusion.catalogue.beside import beside
from facefusion.catalogue.card import Download
from facefusion.catalogue.source import SourceError, Transfer
from facefusion.catalogue.verify import sha256_of
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


class _PassingError(Exception):
    """This attempt failed; the next may not."""


class _RangeRefusedError(_PassingError):
    """The server has no such part of the file; the next attempt asks for all of it."""


def download_file(
    source: Download,
    folder: Path,
    events: EventSink,
    sleep: Callable[[float], object] | None = None,
    *,
    stop: StopToken | None = None,
) -> Path:
    """Download into ``folder``, under a name made of the hash; what an earlier call left unfinished is continued.

    Returns:
        The whole and verified file. The caller deletes it when it is used up.

    Raises:
        SourceError: the address does not deliver, or delivers something else.
        OSError: the file cannot be written.
        Stopped: a stop was asked for; what is there already is continued by the next call.
    """
    stop = stop or StopToken()
    pause = stop.sleep if sleep is None else sleep
    path = folder / f".{source.sha256[:16]}.part"
    with Transfer(f"Fetching {source.url.rpartition('/')[2]}", source.bytes, events, stop) as transfer:
        for attempt in range(ATTEMPTS):
            try:
                _attempt(source, path, transfer, stop)
            except _PassingError as error:
                if attempt + 1 == ATTEMPTS:
                    raise SourceError(f"{error} ({ATTEMPTS} attempts)") from error
                pause(FIRST_PAUSE * 2**attempt)
            else:
                break
    return path


def _attempt(source: Download, path: Path, transfer: Transfer, stop: StopToken) -> None:
    started_at = path.stat().st_size if path.exists() else 0
    if started_at > source.bytes:
        path.unlink()
        started_at = 0
    if started_at < source.bytes:
        _receive(source, path, started_at, transfer, stop)
    size = path.stat().st_size
    if size < source.bytes:
        raise _PassingError(f"the connection ended after {size} of {source.bytes} bytes")
    if size > source.bytes or sha256_of(path) != source.sha256:
        path.unlink()
        if started_at:
            # What an earlier run left may have been damaged, not the source.
            raise _PassingError("the continued file is not what it should be")
        raise SourceError("the file there is not what it should be (its SHA-256 differs)")


def _receive(source: Download, path: Path, start: int, transfer: Transfer, stop: StopToken) -> None:
    with closing(beside(_arrivals(source, start), stop)) as arrivals:
        try:
            position, _ = next(arrivals)
        except _RangeRefusedError:
            path.unlink(missing_ok=True)
            raise
        with path.open("ab" if position else "wb") as file:
            for position, chunk in arrivals:
                file.write(chunk)
                transfer.at(position + len(chunk))


def _arrivals(source: Download, start: int) -> Generator[tuple[int, bytes], None, None]:
    """What the server sends: first nothing, at the place that it begins from, then each piece with its place."""
    with _opened(source, start) as response:
        continued = response.status == http.client.PARTIAL_CONTENT and (
            (response.getheader("Content-Range") or "").startswith(f"bytes {start}-")
        )
        position = start if continued else 0
        yield position, b""
        # One byte more than expected is enough to know that it is another file.
        while position <= source.bytes and (chunk := _chunk(response)):
            yield position, chunk
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
        if error.code == _RANGE_REFUSED:
            raise _RangeRefusedError(answer) from error
        if error.code not in _PASSING:
            raise SourceError(answer) from error
        raise _PassingError(answer) from error
    except (OSError, http.client.HTTPException) as error:
        raise _broken(error) from error


def _chunk(response: http.client.HTTPResponse) -> bytes:
    # Told apart from errors of the file that is written, which end the download.
    try:
        return response.read(_CHUNK)
    except (OSError, http.client.HTTPException) as error:
        raise _broken(error) from error


def _broken(error: Exception) -> _PassingError:
    return _PassingError(f"no connection ({getattr(error, 'reason', error)})")
