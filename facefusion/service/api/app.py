"""The application that a web server runs: all routes, and what surrounds them."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
from collections.abc import AsyncIterator
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from facefusion import __version__
from facefusion.core.errors import FaceFusionError
from facefusion.service.api import assets, events, jobs, results, system
from facefusion.service.api.answers import PlainJson, answer_error, answer_http, answer_invalid
from facefusion.service.api.openapi import document_of
from facefusion.service.api.protection import Protection
from facefusion.service.api.service import Service
from facefusion.service.api.turns import Turns
from facefusion.service.retention import SWEEP_SECONDS

logger = logging.getLogger(__name__)

LOOKS, LOOKS_OF_ONE = 3, 2
"""Uploads that are looked into at a time, and those of one user among them."""


def create_app(service: Service) -> FastAPI:
    """The application, which works with the parts of a service."""
    app = FastAPI(
        title="FaceFusion",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        default_response_class=PlainJson,
        lifespan=_life,
        redirect_slashes=False,
    )
    app.state.service = service
    app.state.looks = Turns(LOOKS, LOOKS_OF_ONE)
    for router in (assets.router, jobs.router, results.router, events.router, system.router):
        app.include_router(router)
    app.add_exception_handler(FaceFusionError, answer_error)
    app.add_exception_handler(HTTPException, answer_http)
    app.add_exception_handler(RequestValidationError, answer_invalid)
    app.add_exception_handler(Exception, answer_error)
    app.add_middleware(Protection, is_open=service.gate.is_open, observe=service.observe)
    app.openapi = functools.cache(lambda: _document(app, service))  # type: ignore[method-assign]
    return app


def _document(app: FastAPI, service: Service) -> dict[str, Any]:
    return document_of(app, service.rules.json_schema())


@contextlib.asynccontextmanager
async def _life(app: FastAPI) -> AsyncIterator[None]:
    service: Service = app.state.service
    tasks = [asyncio.create_task(_sweep(service))]
    if service.courier is not None:
        tasks.append(asyncio.create_task(service.courier.run()))
    try:
        yield
    finally:
        service.streams.ending.set()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _sweep(service: Service) -> None:
    while True:
        try:
            await run_in_threadpool(service.retention.sweep)
        except FaceFusionError as error:
            logger.warning("what has expired could not be erased: %s", error)
        except Exception:  # the next time may go better, and nothing may be kept for ever
            logger.exception("what has expired could not be erased")
        await asyncio.sleep(SWEEP_SECONDS)
