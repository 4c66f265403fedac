"""How answers are written, problems above all."""

from __future__ import annotations

import json
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from facefusion.service.problems import MEDIA_TYPE, FieldFault, FieldsError, Problem, plain_problem, problem_of

PLACES = ("body", "query", "path", "header")
"""What the framework puts before the name of a field."""

NOWHERE = "Nothing is at this address. /docs lists the addresses that there are."


class PlainJson(JSONResponse):
    """JSON in ASCII alone: halves of surrogate pairs, which clients can send, cannot be written otherwise."""

    def render(self, content: Any) -> bytes:  # noqa: ANN401 - as the base has it
        """The body."""
        return json.dumps(content, separators=(",", ":"), allow_nan=False).encode("ascii")


class ProblemJson(PlainJson):
    """A problem document."""

    media_type = MEDIA_TYPE


def problem_response(problem: Problem) -> Response:
    """The answer that says what went wrong."""
    return ProblemJson(problem.body, problem.status, problem.headers)


async def answer_error(_: Request, error: Exception) -> Response:
    """For an error of ours, or a defect."""
    return problem_response(problem_of(error))


async def answer_http(_: Request, error: Exception) -> Response:
    """For what the framework refuses, such as a path that is none."""
    assert isinstance(error, HTTPException)
    detail = NOWHERE if error.status_code == 404 else f"{str(error.detail).rstrip('.')}."
    problem = plain_problem(error.status_code, detail)
    problem.headers.update(error.headers or {})
    return problem_response(problem)


async def answer_invalid(_: Request, error: Exception) -> Response:
    """For a request that is not as it was declared."""
    assert isinstance(error, RequestValidationError)
    return problem_response(problem_of(FieldsError([_fault(one) for one in error.errors()])))


def _fault(one: dict[str, Any]) -> FieldFault:
    place, *rest = one["loc"]
    name = ".".join(str(part) for part in (rest if place in PLACES else one["loc"])) or str(place)
    message = str(one["msg"])
    return FieldFault(name, f"{name}: {message[:1].lower()}{message[1:].rstrip('.')}.")
