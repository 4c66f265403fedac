"""The OpenAPI document: what the framework derives, with our problems and the settings of a step put in."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from facefusion import __version__
from facefusion.service.api.documents import ProblemDocument
from facefusion.service.problems import MEDIA_TYPE
from facefusion.service.steps import JsonSchema

Responses = dict[int | str, dict[str, Any]]
Table = dict[str, Any]

WITH_TOKEN = (401, 403, 429, 503)
"""What may be answered wherever a token is asked for."""
FRAMEWORKS = ("HTTPValidationError", "ValidationError")
"""Documents that the framework would answer with, were it not for our problems."""

TEXT = (
    "Changes faces in images and videos. Files are uploaded as assets, jobs name them by their ids, and results are "
    "fetched from the jobs. Errors are problem documents (RFC 9457). Assets and results expire."
)


def problems(*statuses: int) -> Responses:
    """What a route may answer other than it should, for its declaration."""
    return {status: {"model": ProblemDocument, "description": HTTPStatus(status).phrase} for status in statuses}


def document_of(app: FastAPI, step: JsonSchema) -> Table:
    """The OpenAPI document.

    Args:
        app: whose routes it describes.
        step: JSON Schema of what clients may choose.
    """
    table: Table = get_openapi(title="FaceFusion", version=__version__, description=TEXT, routes=app.routes)
    schemas: Table = table["components"]["schemas"]
    for name in FRAMEWORKS:
        schemas.pop(name, None)
    request: Table = schemas["JobRequest"]["properties"]["step"]
    schemas["JobRequest"]["properties"]["step"] = {**step, "description": request["description"]}
    for operations in table["paths"].values():
        for operation in operations.values():
            _put_problems(operation)
    return table


def _put_problems(operation: Table) -> None:
    responses: Table = operation["responses"]
    if "security" in operation:
        responses |= {
            str(status): {"description": HTTPStatus(status).phrase}
            for status in WITH_TOKEN
            if str(status) not in responses
        }
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}}
    for status, response in responses.items():
        if status.isdecimal() and int(status) >= 400 and status != "416":
            response["content"] = content
    operation["responses"] = dict(sorted(responses.items()))
