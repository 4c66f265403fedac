"""Assets and jobs as whoever asks sees them: others' are not there."""

from __future__ import annotations

import re

from facefusion.service.api.documents import ID
from facefusion.service.api.service import Service
from facefusion.service.auth import Principal
from facefusion.service.errors import NotFoundError
from facefusion.service.records import Asset, JobRecord


def find_asset(service: Service, principal: Principal, asset_id: str) -> Asset | None:
    """An asset; none where there is none, or it is another's, or its time is over."""
    # No store is ever asked for what is no id: some make paths of them.
    asset = service.files.asset(asset_id) if re.fullmatch(ID, asset_id) else None
    if asset is None or not principal.owns(asset.owner) or asset.expires <= service.clock():
        return None
    return asset


def own_asset(service: Service, principal: Principal, asset_id: str) -> Asset:
    """An asset.

    Raises:
        NotFoundError: see :func:`find_asset`.
    """
    asset = find_asset(service, principal, asset_id)
    if asset is None:
        raise NotFoundError("there is no such asset", "It may have expired; upload the file again.")
    return asset


def own_job(service: Service, principal: Principal, job_id: str) -> JobRecord:
    """A job.

    Raises:
        NotFoundError: there is none, or it is another's.
    """
    job = service.queue.find(job_id) if re.fullmatch(ID, job_id) else None
    if job is None or not principal.owns(job.owner):
        raise NotFoundError("there is no such job", "It may have expired, or was erased.")
    return job


def hashes_of(service: Service, job: JobRecord) -> list[str]:
    """SHA-256 of the files of a job that are there: the target, the sources, the result."""
    assets = (service.files.asset(asset) for asset in (job.target, *job.sources))
    results = [] if job.result is None else [job.result.sha256]
    return [*(asset.sha256 for asset in assets if asset is not None), *results]
