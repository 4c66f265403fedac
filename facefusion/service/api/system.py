"""What the service is, whether it is well, and what it counted."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

from facefusion import __version__
from facefusion.core.formats import MediaKind, writable
from facefusion.service.api.access import Reader, Scraper, ServiceOf
from facefusion.service.api.answers import PlainJson
from facefusion.service.api.documents import Capabilities, Health
from facefusion.service.api.openapi import problems
from facefusion.service.api.page import POLICY, page_of
from facefusion.service.uploads import UploadLimits

router = APIRouter()


@router.get("/v1/capabilities", tags=["service"])
def show_capabilities(service: ServiceOf, _: Reader) -> Capabilities:
    """Look at what this service does, and which settings you may choose."""
    schema = service.rules.json_schema()
    limits = UploadLimits.of(service.settings)
    return Capabilities(
        version=__version__,
        processors=service.rules.choices("processors"),
        targets=sorted({*writable(MediaKind.IMAGE), *writable(MediaKind.VIDEO)}),
        upload_limit=limits.upload,
        subject_quota=limits.subject,
        retention_hours=service.settings.retention_hours,
        step=schema,
    )


@router.head("/health/live", include_in_schema=False)
@router.get("/health/live", tags=["health"])
async def show_life() -> Health:
    """Whether the process answers."""
    return Health(status="alive")


@router.head("/health/ready", include_in_schema=False)
@router.get(
    "/health/ready",
    tags=["health"],
    responses={503: {"model": Health, "description": "Something that is needed is missing; 'checks' says what."}},
)
def show_readiness(service: ServiceOf) -> Response:
    """Whether requests can be served: the queue and the storage are there, and have room."""
    health = service.readiness.look()
    return PlainJson(health.document(), 200 if health.is_ready else 503)


@router.get(
    "/metrics",
    tags=["health"],
    response_class=Response,
    responses={200: {"content": {"text/plain": {}}, "description": "For Prometheus."}, **problems()},
)
def show_metrics(service: ServiceOf, _: Scraper) -> Response:
    """What was counted."""
    body, content_type = service.exposition()
    return Response(body, headers={"Content-Type": content_type})


@router.get("/openapi.json", include_in_schema=False)
def show_document(request: Request) -> Response:
    """The OpenAPI document."""
    return PlainJson(request.app.openapi())


@router.get("/", include_in_schema=False)
@router.get("/docs", include_in_schema=False)
def show_page(request: Request) -> Response:
    """The page that documents the API."""
    base = str(request.base_url).rstrip("/")
    return HTMLResponse(page_of(request.app.openapi(), base), headers={"Content-Security-Policy": POLICY})
