"""``/v1/jobs``: work is asked for, watched, cancelled, and its result fetched."""

from __future__ import annotations

import secrets
from pathlib import PurePath
from typing import Annotated

from fastapi import APIRouter, Header, Query, Response

from facefusion.core.formats import MediaKind, kind_of
from facefusion.service.api.access import AddressOf, Everyone, Reader, ServiceOf, Submitter, listed_owner
from facefusion.service.api.documents import ID, JobDocument, JobList, JobRequest
from facefusion.service.api.openapi import problems
from facefusion.service.api.owned import find_asset, hashes_of, own_job
from facefusion.service.api.service import Service
from facefusion.service.auth import Principal
from facefusion.service.errors import NotFoundError
from facefusion.service.foresight import check_job
from facefusion.service.problems import FieldFault, FieldsError
from facefusion.service.records import Asset, JobRecord, JobState

MOST_LISTED = 200

IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=200,
        pattern=r"^[\x21-\x7e]+$",
        description="Of your making. A request that is repeated under the same key queues nothing twice.",
    ),
]

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])


@router.post(
    "",
    status_code=201,
    responses={
        200: {"model": JobDocument, "description": "The job that was queued under the same key before."},
        **problems(400, 408, 409, 413, 422, 507),
    },
)
def submit(
    body: JobRequest,
    response: Response,
    service: ServiceOf,
    address: AddressOf,
    principal: Submitter,
    idempotency_key: IdempotencyKey = None,
) -> JobDocument:
    """Queue a job."""
    with service.audit.recording(principal.subject, address, "submit") as entry:
        target, sources = _assets(service, principal, body)
        entry.hashes = [asset.sha256 for asset in (target, *sources)]
        job = JobRecord(
            id=secrets.token_hex(16),
            owner=principal.subject,
            state=JobState.QUEUED,
            priority=body.priority,
            step=service.rules.frozen(body.step),
            sources=tuple(asset.id for asset in sources),
            target=target.id,
            extension=body.extension or target.extension,
            created=service.clock(),
            callback=None if body.callback is None else service.callbacks.check(body.callback.url),
        )
        check_job(service.rules, job, target, sources)
        service.uploads.check_quota(principal.subject)
        service.uploads.check_free()
        entry.job = job.id
        service.audit.announce(entry)
        queued = service.queue.submit(
            job, idempotency_key=idempotency_key, most_waiting=service.settings.waiting_jobs_limit
        )
        entry.job = queued.id
    if queued.id != job.id:
        response.status_code = 200
    response.headers["Location"] = f"/v1/jobs/{queued.id}"
    return JobDocument.of(queued)


@router.get("", responses=problems(404, 422))
def list_jobs(
    service: ServiceOf,
    principal: Reader,
    limit: Annotated[int, Query(ge=1, le=MOST_LISTED)] = 50,
    before: Annotated[str | None, Query(pattern=ID, description="Id of a job; only older ones are listed.")] = None,
    everyone: Everyone = False,
) -> JobList:
    """List your jobs, the newest first."""
    owner = listed_owner(principal, everyone=everyone)
    return JobList.of(service.queue.list(owner, limit=limit, before=before), limit)


@router.head("/{job_id}", include_in_schema=False)
@router.get("/{job_id}", responses=problems(404))
def show_job(job_id: str, service: ServiceOf, principal: Reader) -> JobDocument:
    """Look at a job: where it stands, how far it is, and how it ended."""
    return JobDocument.of(own_job(service, principal, job_id))


@router.delete(
    "/{job_id}",
    status_code=202,
    response_model=JobDocument,
    responses={204: {"description": "The job was final: it is erased, with its result."}, **problems(404)},
)
def cancel_or_erase(
    job_id: str, response: Response, service: ServiceOf, address: AddressOf, principal: Submitter
) -> JobDocument | Response:
    """Cancel a job. One that is final is erased at once, with its result and all that was made on the way."""
    with service.audit.recording(principal.subject, address, "cancel") as entry:
        job = own_job(service, principal, job_id)
        entry.job, entry.hashes = job.id, hashes_of(service, job)
        if job.state.is_final:
            entry.action = "erase job"
            service.audit.announce(entry)
            service.files.erase_job(job.id)
            service.queue.erase(job.id)
            return Response(status_code=204)
        service.audit.announce(entry)
        cancelled = service.queue.cancel(job.id)
        if cancelled is None:
            raise NotFoundError("there is no such job", "It was erased meanwhile.")
    return JobDocument.of(cancelled)


def _assets(service: Service, principal: Principal, body: JobRequest) -> tuple[Asset, tuple[Asset, ...]]:
    """The target and the sources.

    Raises:
        FieldsError: one is not there, or not of a kind that is of use there.
    """
    faults: list[FieldFault] = []

    def found(field: str, asset_id: str, kinds: tuple[MediaKind, ...]) -> Asset | None:
        asset = find_asset(service, principal, asset_id)
        if asset is None:
            faults.append(FieldFault(field, f"there is no asset {asset_id}. It may have expired; upload it again."))
        elif kind_of(PurePath(f"_{asset.extension}")) not in kinds:
            allowed = " or ".join(one.value for one in kinds)
            faults.append(FieldFault(field, f"the asset {asset_id} is of {asset.media_type}: it must be {allowed}."))
        return asset

    target = found("target", body.target, (MediaKind.IMAGE, MediaKind.VIDEO))
    sources = [
        found(f"sources.{index}", asset_id, (MediaKind.IMAGE, MediaKind.AUDIO))
        for index, asset_id in enumerate(body.sources)
    ]
    if faults or target is None:
        raise FieldsError(faults)
    return target, tuple(source for source in sources if source is not None)
