"""What is looked at before a request gets to its route, and what every answer says to browsers."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from facefusion.core.errors import FaceFusionError
from facefusion.service.api.answers import problem_response
from facefusion.service.api.service import Observer
from facefusion.service.auth import is_loopback
from facefusion.service.errors import ForbiddenError, MalformedError, StalledError, TooLargeError
from facefusion.service.problems import Problem, plain_problem, problem_of

logger = logging.getLogger(__name__)

MOST_BYTES = 1 << 16
"""Of a body that is no upload."""
BODY_SECONDS = 30.0
"""In which such a body has to be there."""
UPLOADS = "/v1/assets"
AGAIN_SECONDS = 5
"""After which a request is worth sending again that the end of a server cut off."""

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}


class Protection:
    """Keeps what is no proper request from the routes, and tells an observer of every answer.

    Args:
        app: the routes.
        is_open: whether nobody needs a token. Pages of the web that a user opens could use the service in their name
            then, so that requests must be made to this machine by its own name, and not from another site's page.
        observe: told of every answer.
    """

    def __init__(self, app: ASGIApp, *, is_open: bool, observe: Observer | None = None) -> None:
        self._app = app
        self._is_open = is_open
        self._observe = observe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = time.monotonic()
        is_answered = False

        async def answer(message: Message) -> None:
            nonlocal is_answered
            if message["type"] == "http.response.start":
                is_answered = True
                self._dress(scope, message, time.monotonic() - begun)
            await send(message)

        try:
            receive = await self._checked(scope, receive)
        except FaceFusionError as error:
            await problem_response(problem_of(error))(scope, receive, answer)
            return
        try:
            await self._app(scope, receive, answer)
        except asyncio.CancelledError:
            # The server ends, and has waited for as long as it waits. That is no failure which a trace would explain.
            logger.warning("%s %s was not done when the server ended", scope["method"], _route_of(scope))
            if not is_answered:
                await problem_response(_ending())(scope, receive, answer)

    def _dress(self, scope: Scope, message: Message, seconds: float) -> None:
        headers = MutableHeaders(scope=message)
        for name, value in HEADERS.items():
            headers.setdefault(name, value)
        headers.setdefault("Cache-Control", "no-store")
        if self._observe is not None:
            self._observe(scope["method"], _route_of(scope), message["status"], seconds)

    async def _checked(self, scope: Scope, receive: Receive) -> Receive:
        """What gives the body to the routes.

        Raises:
            MalformedError: where its body ends is not certain.
            ForbiddenError: a page of another site asks.
            TooLargeError: the body is larger than any that has a meaning.
            StalledError: it does not come to its end.
        """
        headers = Headers(scope=scope)
        if "transfer-encoding" in headers and "content-length" in headers:
            # A gateway that heeds the other one would see a second request in the body (RFC 9112, 6.1 and 11.2).
            raise MalformedError("the request tells the end of its body in two ways", "Leave Content-Length out.")
        if self._is_open:
            _check_origin(headers)
        if scope["method"] in ("GET", "HEAD", "OPTIONS") or scope["path"] == UPLOADS:
            return receive
        try:
            async with asyncio.timeout(BODY_SECONDS):
                return _replay(await _body(headers, receive), receive)
        except TimeoutError as error:
            raise StalledError("the request broke off", "Send it again.") from error


def _route_of(scope: Scope) -> str:
    route: Any = scope.get("route")
    return getattr(route, "path", "")


def _ending() -> Problem:
    problem = plain_problem(503, "The server ends. Send it again: another answers, or this one does soon.")
    problem.headers["Retry-After"] = str(AGAIN_SECONDS)
    return problem


def _check_origin(headers: Headers) -> None:
    """A page may be made to ask this machine under a name of its own (DNS rebinding), or send a form to it."""
    host = headers.get("host", "")
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() and not host.endswith("]") else host
    if not is_loopback(name.strip("[]")):
        raise ForbiddenError(
            "without a token the service answers to this machine's own names only",
            "Ask for http://127.0.0.1, or have the operator set a token.",
        )
    origin = headers.get("origin")
    if origin is not None and origin != f"http://{host}":
        raise ForbiddenError("pages of other sites may not use the service", "Ask from the service's own page.")


async def _body(headers: Headers, receive: Receive) -> bytes:
    announced = headers.get("content-length", "")
    if announced.isascii() and announced.isdigit() and int(announced) > MOST_BYTES:
        raise _too_large()
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise StalledError("the request broke off", "Send it again.")
        body += message.get("body", b"")
        if len(body) > MOST_BYTES:
            raise _too_large()
        if not message.get("more_body", False):
            return bytes(body)


def _replay(body: bytes, receive: Receive) -> Receive:
    is_told = False

    async def replayed() -> Message:
        nonlocal is_told
        if is_told:
            return await receive()
        is_told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed


def _too_large() -> TooLargeError:
    return TooLargeError(
        f"the body is larger than the {MOST_BYTES} bytes that a request without a file may have", "Send less."
    )
