"""Sends a file that lies elsewhere, all of it or one part (RFC 9110, 14). Who asks for several parts gets all of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain

from starlette.responses import Response, StreamingResponse

from facefusion.service.ports import ResultFile

RANGE = re.compile(r"[ \t]*bytes[ \t]*=[ \t]*([0-9]{0,18})-([0-9]{0,18})[ \t]*", re.IGNORECASE)


def streamed(file: ResultFile, asked: Mapping[str, str], headers: Mapping[str, str], media_type: str) -> Response:
    """The answer with a file.

    What is asked for first is read before the answer begins, so that a file that cannot be read is an error of its own.

    Args:
        file: to be sent.
        asked: headers of the request, by names in lower case.
        headers: of the answer, ``ETag`` among them.
        media_type: of the file.

    Raises:
        NotFoundError: the file is not there any more.
        ServiceUnavailableError: it cannot be read.
    """
    size = file.size
    about = {**headers, "Accept-Ranges": "bytes"}
    first, stop = 0, size
    status = 200
    if (part := _part(asked, headers["ETag"], size)) is not None:
        first, stop = part
        if first >= stop:
            return Response(status_code=416, headers={**about, "Content-Range": f"bytes */{size}"})
        status = 206
        about["Content-Range"] = f"bytes {first}-{stop - 1}/{size}"
    about["Content-Length"] = str(stop - first)
    return StreamingResponse(_begun(file.read(first, stop)), status, about, media_type)


def _begun(blocks: Iterator[bytes]) -> Iterator[bytes]:
    return chain([next(blocks, b"")], blocks)


def _part(asked: Mapping[str, str], etag: str, size: int) -> tuple[int, int] | None:
    """From which byte to before which; none where all of it is asked for, or what cannot be understood."""
    match = RANGE.fullmatch(asked.get("range", ""))
    if match is None or not any(match.groups()) or asked.get("if-range", etag) != etag:
        return None
    begin, end = match.groups()
    if not begin:
        return max(size - int(end), 0), size
    if end and int(end) < int(begin):
        return None
    return int(begin), min(int(end) + 1, size) if end else size
