"""``/v1/assets``: files come in, and are erased."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from facefusion.service.api.access import AddressOf, Everyone, Reader, ServiceOf, Submitter, listed_owner
from facefusion.service.api.documents import ID, AssetDocument, AssetList
from facefusion.service.api.openapi import problems
from facefusion.service.api.owned import own_asset
from facefusion.service.api.service import Service
from facefusion.service.audit import DONE, Entry
from facefusion.service.errors import ConflictError, NotFoundError, StalledError
from facefusion.service.multipart import FormFile
from facefusion.service.problems import kind_of_error
from facefusion.service.records import Asset

BLOCK = 1 << 20
"""Bytes that are written at a time."""
IDLE_SECONDS = 60.0
"""In which something worth while has to come of an upload, or it is given up."""
MOST_LISTED = 1000
LEAST_BYTES = 1 << 14
"""What is worth while: a line so slow would take weeks for an upload, and hold a place for as long."""

FORM = "multipart/form-data"
BINARY = {"schema": {"type": "string", "format": "binary"}}
UPLOAD_BODY = {
    "requestBody": {
        "required": True,
        "description": "The file itself, or a form whose field `file` is it. Its name and its type are passed over.",
        "content": {
            "application/octet-stream": BINARY,
            "image/*": BINARY,
            "video/*": BINARY,
            "audio/*": BINARY,
            FORM: {"schema": {"type": "object", "required": ["file"], "properties": {"file": BINARY["schema"]}}},
        },
    }
}

router = APIRouter(prefix="/v1/assets", tags=["assets"])


@router.post(
    "",
    status_code=201,
    openapi_extra=UPLOAD_BODY,
    responses=problems(408, 413, 415, 422, 507),
)
async def upload(
    request: Request, response: Response, service: ServiceOf, address: AddressOf, principal: Submitter
) -> AssetDocument:
    """Upload an image, a video or a sound."""
    entry = Entry(principal.subject, address, "upload")
    try:
        with service.streams.uploading(principal.subject):
            asset = await _receive(request, service, entry)
    except Exception as error:
        await run_in_threadpool(service.audit.conclude, entry, kind_of_error(error))
        raise
    entry.asset = asset.id
    await run_in_threadpool(service.audit.conclude, entry, DONE)
    response.headers["Location"] = f"/v1/assets/{asset.id}"
    return AssetDocument.of(asset)


@router.get("", responses=problems(404, 422))
def list_assets(
    service: ServiceOf,
    principal: Reader,
    limit: Annotated[int, Query(ge=1, le=MOST_LISTED)] = MOST_LISTED,
    before: Annotated[str | None, Query(pattern=ID, description="Id of an asset; only older ones are listed.")] = None,
    everyone: Everyone = False,
) -> AssetList:
    """List your assets, the newest first."""
    owner = listed_owner(principal, everyone=everyone)
    kept = (asset for asset in service.files.assets(owner) if asset.expires > service.clock())
    assets = sorted(kept, key=lambda asset: (asset.created, asset.id), reverse=True)
    if before is not None:
        ids = [asset.id for asset in assets]
        if before not in ids:
            raise NotFoundError(f"there is no asset {before} to go on from", "List from the newest on.")
        assets = assets[ids.index(before) + 1 :]
    return AssetList.of(assets[:limit], limit)


@router.head("/{asset_id}", include_in_schema=False)
@router.get("/{asset_id}", responses=problems(404))
def show_asset(asset_id: str, service: ServiceOf, principal: Reader) -> AssetDocument:
    """Look at an asset."""
    return AssetDocument.of(own_asset(service, principal, asset_id))


@router.delete("/{asset_id}", status_code=204, responses=problems(404, 409))
def erase_asset(asset_id: str, service: ServiceOf, address: AddressOf, principal: Submitter) -> None:
    """Erase an asset at once. One that a job still uses stays until that is cancelled or done."""
    with service.audit.recording(principal.subject, address, "erase asset") as entry:
        asset = own_asset(service, principal, asset_id)
        entry.asset, entry.hashes = asset.id, [asset.sha256]
        if service.queue.uses(asset.id):
            raise ConflictError("a job uses the asset", "Cancel the job first with DELETE /v1/jobs/{id}.")
        service.audit.announce(entry)
        service.files.erase_asset(asset.id)


async def _receive(request: Request, service: Service, entry: Entry) -> Asset:
    content_type = request.headers.get("content-type", "")
    form = FormFile(content_type) if content_type.lower().startswith(FORM) else None
    upload = await run_in_threadpool(service.uploads.begin, entry.subject, _announced(request))
    try:
        async for block in _blocks(request):
            data = block if form is None else form.feed(block)
            if data:
                await run_in_threadpool(upload.write, data)
        if form is not None:
            form.close()
        entry.hashes = [upload.sha256]
        await run_in_threadpool(service.audit.announce, entry)
        # A few at a time, and those that wait hold no thread that other requests need.
        async with request.app.state.looks.taken(entry.subject):
            return await run_in_threadpool(upload.keep)
    finally:
        upload.close()


async def _blocks(request: Request) -> AsyncIterator[bytes]:
    """The body in pieces that are worth a write.

    Raises:
        StalledError: it stopped coming.
    """
    stream = request.stream()
    gathered = bytearray()
    try:
        while True:
            async with asyncio.timeout(IDLE_SECONDS):
                is_more = await _gather(stream, gathered, LEAST_BYTES)
            if not is_more:
                break
            if len(gathered) >= BLOCK:
                yield bytes(gathered)
                gathered.clear()
    except (ClientDisconnect, TimeoutError) as error:
        raise StalledError("the upload broke off", "Send it again.") from error
    if gathered:
        yield bytes(gathered)


async def _gather(stream: AsyncIterator[bytes], gathered: bytearray, least: int) -> bool:
    """Have so many bytes more of a stream; whether there may be further ones."""
    wanted = len(gathered) + least
    while len(gathered) < wanted:
        try:
            gathered += await anext(stream)
        except StopAsyncIteration:
            return False
    return True


def _announced(request: Request) -> int | None:
    text = request.headers.get("content-length", "")
    return int(text) if text.isascii() and text.isdigit() else None
