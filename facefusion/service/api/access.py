"""Who asks, for each route: the token is looked at, counted, and asked for the scope that the route needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, cast

from fastapi import Depends, Query, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from facefusion.service.api.service import Service
from facefusion.service.audit import Entry
from facefusion.service.auth import Principal, Scope
from facefusion.service.errors import ForbiddenError, UnauthorisedError
from facefusion.service.problems import kind_of_error

BEARER = HTTPBearer(auto_error=False, description="`API_TOKEN`, or a JSON Web Token with scopes")
Credentials = Annotated[HTTPAuthorizationCredentials | None, Security(BEARER)]


def service_of(request: Request) -> Service:
    """The service that the request was made to."""
    return cast("Service", request.app.state.service)


def address_of(request: Request) -> str:
    """Where the request comes from; empty where that is not known."""
    return "" if request.client is None else request.client.host


def may_read(request: Request, credentials: Credentials) -> Principal:
    """Who asks, where they may look at what is theirs.

    Raises:
        UnauthorisedError: there is no token that holds.
        ForbiddenError: it does not allow this.
        RateLimitError: they ask too often.
    """
    return _allowed(request, credentials, Scope.READ)


def may_submit(request: Request, credentials: Credentials) -> Principal:
    """Who asks, where they may upload, queue and erase. Errors are those of :func:`may_read`."""
    return _allowed(request, credentials, Scope.SUBMIT)


def may_scrape(request: Request, credentials: Credentials) -> Principal:
    """Who asks, where they may look at what was counted, for which nothing but this process is needed.

    Errors are those of :func:`may_read`.
    """
    return _allowed(request, credentials, Scope.READ, service_of(request).rates.count_scrape)


def _allowed(
    request: Request,
    credentials: HTTPAuthorizationCredentials | None,
    scope: Scope,
    count: Callable[[str], None] | None = None,
) -> Principal:
    service, address = service_of(request), address_of(request)
    token = None if credentials is None else credentials.credentials
    try:
        principal = service.gate.principal(token)
    except UnauthorisedError as error:
        service.rates.count_failure(address)
        if token is not None:
            service.audit.write(Entry("", address, "authenticate"), kind_of_error(error))
        raise
    (count or service.rates.count_request)(principal.subject)
    try:
        principal.require(scope)
    except ForbiddenError as error:
        service.audit.write(Entry(principal.subject, address, f"use {scope.value}"), kind_of_error(error))
        raise
    return principal


def listed_owner(principal: Principal, *, everyone: bool) -> str | None:
    """Whose things are to be listed; everybody's where none.

    Raises:
        ForbiddenError: everybody's are asked for by somebody who may not see them.
    """
    if not everyone:
        return principal.subject
    principal.require(Scope.ADMIN)
    return None


ServiceOf = Annotated[Service, Depends(service_of)]
AddressOf = Annotated[str, Depends(address_of)]
Everyone = Annotated[bool, Query(description="Those of all users, for admins.")]
Reader = Annotated[Principal, Depends(may_read)]
Scraper = Annotated[Principal, Depends(may_scrape)]
Submitter = Annotated[Principal, Depends(may_submit)]
