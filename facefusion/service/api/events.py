"""``/v1/jobs/{id}/events``: how a job goes on, as server-sent events (WHATWG HTML, 9.2)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Header
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from facefusion.core.errors import FaceFusionError
from facefusion.service.api.access import Reader, ServiceOf
from facefusion.service.api.documents import EventDocument, ProgressDocument
from facefusion.service.api.openapi import problems
from facefusion.service.api.owned import own_job
from facefusion.service.api.service import Service
from facefusion.service.records import JobEvent, JobState, Progress

logger = logging.getLogger(__name__)

QUIET_SECONDS = 15.0
"""After which a line without meaning keeps proxies from closing the connection, and the job is looked at again."""
PATIENCE_SECONDS = 60.0
"""After which a watcher who takes nothing is one no longer: the connection lives, and nobody reads."""
LOOK_SECONDS = 0.5
"""How often a stream looks whether the service ends."""

EVENT_ID = r"^[0-9A-Za-z-]{1,40}$"
EXAMPLE = (
    'id: 7\nevent: progress\ndata: {"state":"running","progress":{"frames_done":120,"frames_total":900,'
    '"frames_per_second":24.0,"seconds_left":32.5,"segments_done":0,"segments_total":3}}\n\n'
)

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])


class EventStream(StreamingResponse):
    """Tells a watcher of a job.

    Args:
        service: that is asked.
        subject: who watches.
        job_id: of the job.
        after: the last event that they saw.
    """

    def __init__(self, service: Service, subject: str, job_id: str, after: str | None) -> None:
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(_told(service, job_id, after), media_type="text/event-stream", headers=headers)
        self._streams = service.streams
        self._subject = subject

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Tell them, as long as they listen."""

        async def patient(message: Message) -> None:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await send(message)

        with self._streams.watching(self._subject), contextlib.suppress(TimeoutError):
            await super().__call__(scope, receive, patient)


@router.get(
    "/{job_id}/events",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "Begins with how the job stands, and ends with the event that is final.",
            "content": {"text/event-stream": {"example": EXAMPLE}},
        },
        **problems(404),
    },
)
def watch_job(
    job_id: str,
    service: ServiceOf,
    principal: Reader,
    last_event_id: Annotated[str | None, Header(description="Of the last event that was seen.")] = None,
) -> EventStream:
    """Watch a job."""
    job = own_job(service, principal, job_id)
    is_id = last_event_id is not None and re.fullmatch(EVENT_ID, last_event_id) is not None
    return EventStream(service, principal.subject, job.id, last_event_id if is_id else None)


async def _told(service: Service, job_id: str, after: str | None) -> AsyncGenerator[bytes, None]:
    source = service.queue.events(job_id, after)
    coming = asyncio.ensure_future(_next(source))
    try:
        # Only after the watch has begun, so that no change falls between the two.
        await asyncio.sleep(0)
        async for text in _standing(service, job_id, is_first=True):
            yield text
        quiet_since = time.monotonic()
        while not service.streams.ending.is_set():
            await asyncio.wait({coming}, timeout=LOOK_SECONDS)
            if coming.done():
                event = coming.result()
                if event is None:
                    return
                yield _text(event.id, event.state, event.progress)
                if event.state.is_final:
                    return
                coming = asyncio.ensure_future(_next(source))
                quiet_since = time.monotonic()
            elif time.monotonic() - quiet_since >= QUIET_SECONDS:
                yield b": still here\n\n"
                async for text in _standing(service, job_id, is_first=False):
                    yield text
                quiet_since = time.monotonic()
    except _FinalError:
        return
    except FaceFusionError as error:
        logger.warning("a stream of events ended early: %s", error)  # the client asks again
    finally:
        coming.cancel()
        with contextlib.suppress(asyncio.CancelledError, FaceFusionError):
            await coming
        if isinstance(source, AsyncGenerator):
            await source.aclose()


class _FinalError(Exception):
    """Nothing more will happen to the job, and that was told."""


async def _standing(service: Service, job_id: str, *, is_first: bool) -> AsyncIterator[bytes]:
    """How the job stands, where that is to be told.

    Raises:
        _FinalError: nothing will follow.
    """
    job = await run_in_threadpool(service.queue.find, job_id)
    if job is None:
        raise _FinalError
    if is_first or job.state.is_final:
        yield _text(None, job.state, job.progress)
    if job.state.is_final:
        raise _FinalError


async def _next(source: AsyncIterator[JobEvent]) -> JobEvent | None:
    return await anext(source, None)


def _text(event_id: str | None, state: JobState, progress: Progress) -> bytes:
    document = EventDocument(state=state, progress=ProgressDocument.of(progress))
    kind = "end" if state.is_final else "progress"
    lines = [
        *([] if event_id is None else [f"id: {event_id}"]),
        f"event: {kind}",
        f"data: {document.model_dump_json()}",
    ]
    return "".join(f"{line}\n" for line in (*lines, "")).encode()
