"""Tells whoever watches a process what it counted and whether it is well, on a port of its own without a token.

``/metrics`` is for Prometheus, ``/health/live`` and ``/health/ready`` are for what starts and restarts processes. What
is told there names no job, no file and no person; no gateway passes the port on.
"""

from __future__ import annotations

import json
import logging
import socket
import threading
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeAlias

from facefusion.service.health import Readiness

logger = logging.getLogger(__name__)

PATIENCE_SECONDS = 10.0
"""With whoever asks and then says no more."""
JSON = "application/json"

Answer: TypeAlias = tuple[HTTPStatus, bytes, str]
"""Status, content and type of the content."""


def serve_watchers(
    host: str, port: int, exposition: Callable[[], tuple[bytes, str]], readiness: Readiness | None
) -> ThreadingHTTPServer:
    """Answer from threads that end with the process.

    Args:
        host: name or address to listen on.
        port: likewise; 0 for any that is free.
        exposition: gives what was counted, and the type of that content.
        readiness: looks whether work can be done; where there is none, nobody is told.

    Raises:
        OSError: the address is taken, or not one of this machine's.
    """

    def metrics() -> Answer:
        return HTTPStatus.OK, *exposition()

    def life() -> Answer:
        return _json(HTTPStatus.OK, {"status": "alive"})

    answers: dict[str, Callable[[], Answer]] = {"/metrics": metrics, "/health/live": life}
    if readiness is not None:

        def ready() -> Answer:
            health = readiness.look()
            return _json(HTTPStatus.OK if health.is_ready else HTTPStatus.SERVICE_UNAVAILABLE, health.document())

        answers["/health/ready"] = ready
    server = _server(host, port, answers)
    threading.Thread(target=server.serve_forever, name="watchers", daemon=True).start()
    return server


def _server(host: str, port: int, answers: Mapping[str, Callable[[], Answer]]) -> ThreadingHTTPServer:
    found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, _, _, _, address = found[0]

    class Handler(BaseHTTPRequestHandler):
        timeout = PATIENCE_SECONDS
        server_version, sys_version = "facefusion", ""

        def do_GET(self) -> None:
            answer = answers.get(self.path.partition("?")[0])
            self._tell(_made(answer) if answer else _json(HTTPStatus.NOT_FOUND, {"status": "nothing here"}))

        def _tell(self, answer: Answer) -> None:
            status, content, content_type = answer
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, form: str, *words: object) -> None:
            logger.debug(form, *words)

    class Server(ThreadingHTTPServer):
        address_family = family
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            logger.debug("a watcher at %s went away", client_address, exc_info=True)

    return Server((str(address[0]), port), Handler)


def _made(answer: Callable[[], Answer]) -> Answer:
    try:
        return answer()
    except Exception:  # whoever watches has to be told
        logger.exception("a watcher could not be answered")
        return _json(HTTPStatus.INTERNAL_SERVER_ERROR, {"status": "could not be told"})


def _json(status: HTTPStatus, document: Mapping[str, object]) -> Answer:
    return status, json.dumps(document).encode(), JSON
