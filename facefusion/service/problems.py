"""Errors as problem documents (RFC 9457), with the texts that the command line shows.

Whatever is no error of the request's, and not made for clients, goes into the log under an id, and the client is told
that id: paths, addresses and traces stay here.
"""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from http import HTTPStatus

from facefusion.core.errors import FaceFusionError, UsageError
from facefusion.service.errors import BusyError, ServiceUnavailableError, StorageFullError, UnauthorisedError

logger = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
TYPE_PREFIX = "urn:facefusion:problem:"
FOR_CLIENTS = (StorageFullError,)
"""Errors of the service's side whose texts are written for clients."""
CALM_SECONDS = 60
"""After which asking again is worth it, where something lacks that comes back by itself."""


@dataclass(frozen=True, slots=True)
class FieldFault:
    """What is wrong with one field of a request."""

    field: str
    """Where it is: ``step.face_detector_score``."""
    detail: str


class FieldsError(UsageError):
    """Fields of a request that are not allowed; all of them are named at once."""

    def __init__(self, faults: Sequence[FieldFault]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(fault.detail.rstrip(".") for fault in faults))


@dataclass(frozen=True, slots=True)
class Problem:
    """An answer that says what went wrong."""

    status: int
    body: dict[str, object]
    headers: dict[str, str] = field(default_factory=dict)


def problem_of(error: Exception) -> Problem:
    """The answer to a request that ended in an error."""
    if isinstance(error, FaceFusionError) and (error.http_status < 500 or isinstance(error, FOR_CLIENTS)):
        return _told(error)
    return _withheld(error)


def plain_problem(status: int, detail: str, kind: str | None = None, faults: Sequence[FieldFault] = ()) -> Problem:
    """A problem that no error of ours stands for, such as an address that leads nowhere."""
    phrase = _phrase(status)
    body: dict[str, object] = {
        "type": TYPE_PREFIX + (kind or slug(phrase)),
        "title": phrase,
        "status": status,
        "detail": detail,
    }
    if faults:
        body["errors"] = [{"field": fault.field, "detail": fault.detail} for fault in faults]
    return Problem(status, body)


def kind_of_error(error: Exception) -> str:
    """A word for the kind of an error, as problems and the audit log name it: ``content-refused``."""
    return slug(type(error).__name__.removesuffix("Error")) if isinstance(error, FaceFusionError) else "internal"


def slug(name: str) -> str:
    """A name as part of an address: ``ContentRefused`` and ``Content Refused`` become ``content-refused``."""
    return re.sub(r"[\s_-]+|(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()


def _told(error: FaceFusionError) -> Problem:
    faults = error.faults if isinstance(error, FieldsError) else ()
    problem = plain_problem(error.http_status, str(error), kind_of_error(error), faults)
    problem.body["fault"] = error.fault
    if error.remedy:
        problem.body["remedy"] = error.remedy
    problem.body["retry_may_help"] = error.retry_may_help
    if isinstance(error, UnauthorisedError):
        problem.headers["WWW-Authenticate"] = 'Bearer realm="facefusion"'
    if isinstance(error, BusyError):
        problem.headers["Retry-After"] = str(error.seconds)
    return _calm(problem)


def _withheld(error: Exception) -> Problem:
    status = error.http_status if isinstance(error, FaceFusionError) else 500
    number = secrets.token_hex(6)
    if isinstance(error, ServiceUnavailableError):
        # What is away is no defect of ours, and is met by every request until it comes back: one line for each.
        logger.error("request failed, told the client as %s: %s (%s)", number, error, error.__cause__)
    else:
        logger.error("request failed, told the client as %s", number, exc_info=error)
    detail = f"The service could not do this. Its operator finds the reason in the log under {number}."
    problem = plain_problem(status, detail, kind_of_error(error))
    problem.body["log_id"] = number
    return _calm(problem)


def _calm(problem: Problem) -> Problem:
    if problem.status in (503, 507):
        problem.headers["Retry-After"] = str(CALM_SECONDS)
    return problem


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Error"
