"""``/v1/jobs/{id}/result``: the file that a job made, whole or in parts (RFC 9110, 14)."""

from __future__ import annotations

import re

from fastapi import APIRouter, Request, Response
from starlette.responses import FileResponse
from starlette.types import Receive, Scope, Send

from facefusion.service.api.access import AddressOf, Reader, ServiceOf
from facefusion.service.api.openapi import problems
from facefusion.service.api.owned import own_job
from facefusion.service.api.service import Service
from facefusion.service.api.streamed import streamed
from facefusion.service.errors import ConflictError, NotFoundError
from facefusion.service.records import JobRecord, Result

RANGE = re.compile(r"[ \t]*([0-9]{0,18})-([0-9]{0,18})[ \t]*")

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])


class ResultResponse(FileResponse):
    """Sends a result that lies on a disk of this machine."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it; all of it where the header Range says nothing that can be understood, as RFC 9110, 14.2, has it."""
        headers = [(name, value) for name, value in scope["headers"] if name != b"range" or _is_range(value)]
        await super().__call__({**scope, "headers": headers}, receive, send)


@router.get(
    "/{job_id}/result",
    response_class=FileResponse,
    responses={
        200: {"content": {"*/*": {"schema": {"type": "string", "format": "binary"}}}, "description": "The file."},
        206: {"description": "The part that the header Range asks for."},
        416: {"description": "The header Range asks for what is not there."},
        **problems(404, 409),
    },
)
def fetch_result(job_id: str, request: Request, service: ServiceOf, address: AddressOf, principal: Reader) -> Response:
    """Fetch the result of a job that is complete."""
    with service.audit.recording(principal.subject, address, "fetch result") as entry:
        job = own_job(service, principal, job_id)
        entry.job = job.id
        result = _result(service, job)
        entry.hashes = [result.sha256]
        file = service.files.open_result(job.id)
        headers = {
            "ETag": f'"{result.sha256}"',
            "Cache-Control": "private, no-store",
            "Content-Disposition": f'attachment; filename="{job.id}{result.extension}"',
        }
        if file.path is None:
            return streamed(file, request.headers, headers, result.media_type)
        return ResultResponse(file.path, media_type=result.media_type, headers=headers)


def _result(service: Service, job: JobRecord) -> Result:
    """What the job made.

    Raises:
        ConflictError: it is not done yet.
        NotFoundError: it made nothing, or that has expired.
    """
    if not job.state.is_final:
        raise ConflictError("the job is not done yet", "Ask again when its state is 'completed'.")
    if job.result is None:
        raise NotFoundError(f"the job was {job.state.value} and has no result", "Look at the job for the reason.")
    if job.result.expires <= service.clock():
        raise NotFoundError("the result has expired", "Queue the job again.")
    return job.result


def _is_range(value: bytes) -> bool:
    unit, _, parts = value.decode("latin-1").partition("=")
    if unit.strip().lower() != "bytes":
        return False
    for part in parts.split(","):
        match = RANGE.fullmatch(part)
        if match is None or not any(match.groups()):
            return False
        first, last = match.groups()
        if first and last and int(first) > int(last):
            return False
    return True
