"""``/v1/jobs/{id}/result``: the file that a job made, whole or in parts (RFC 9110, 14)."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from starlette.responses import StreamingResponse

from facefusion.service.api.access import AddressOf, Reader, ServiceOf
from facefusion.service.api.openapi import problems
from facefusion.service.api.owned import own_job
from facefusion.service.api.service import Service
from facefusion.service.api.streamed import streamed
from facefusion.service.errors import ConflictError, NotFoundError
from facefusion.service.records import JobRecord, Result

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])


@router.get(
    "/{job_id}/result",
    response_class=StreamingResponse,
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
        file = service.files.open_result(job.id, result)
        return streamed(file, request.headers, _headers(job, result), result.media_type)


@router.head(
    "/{job_id}/result",
    response_class=Response,
    responses={200: {"description": "What is told of the file: length, type, hash."}, **problems(404, 409)},
)
def tell_result(job_id: str, service: ServiceOf, principal: Reader) -> Response:
    """Look at what fetching the result would give, without fetching it."""
    job = own_job(service, principal, job_id)
    result = _result(service, job)
    file = service.files.open_result(job.id, result)
    length = {"Accept-Ranges": "bytes", "Content-Length": str(file.size)}
    return Response(headers={**_headers(job, result), **length}, media_type=result.media_type)


def _headers(job: JobRecord, result: Result) -> dict[str, str]:
    return {
        "ETag": f'"{result.sha256}"',
        "Cache-Control": "private, no-store",
        "Content-Disposition": f'attachment; filename="{job.id}{result.extension}"',
    }


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
