"""What whoever watches a process is told on its own port."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from facefusion.service.health import Readiness
from facefusion.service.watch_port import serve_watchers


def exposition():
    return b"frames_total 7\n", "text/plain; version=0.0.4"


@contextmanager
def watched(readiness: Readiness | None = None, counted=exposition) -> Iterator[int]:
    server = serve_watchers("127.0.0.1", 0, counted, readiness)
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


def ask(port: int, path: str, method: str = "GET") -> tuple[int, str, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.headers.get("Content-Type", ""), answer.read().decode()
    finally:
        connection.close()


def test_what_was_counted_is_told():
    with watched() as port:
        assert ask(port, "/metrics") == (200, "text/plain; version=0.0.4", "frames_total 7\n")
        assert ask(port, "/metrics?name[]=up")[0] == 200


def test_who_answers_is_alive():
    with watched(Readiness({"worker": lambda: "is starting"})) as port:
        status, kind, text = ask(port, "/health/live")
    assert (status, kind, json.loads(text)) == (200, "application/json", {"status": "alive"})


@pytest.mark.parametrize(("fault", "status", "word"), [("", 200, "ready"), ("is starting", 503, "not ready")])
def test_ready_is_who_has_all_it_needs(fault, status, word):
    with watched(Readiness({"worker": lambda: fault, "temp": lambda: ""})) as port:
        answer = ask(port, "/health/ready")
    assert answer[0] == status
    assert json.loads(answer[2]) == {"status": word, "checks": {"worker": fault or "ok", "temp": "ok"}}


@pytest.mark.parametrize("path", ["/health/ready", "/", "/metrics/", "/../metrics"])
def test_nothing_else_is_there(path):
    with watched() as port:
        assert ask(port, path)[0] == 404


def test_what_breaks_is_an_answer_without_its_reason(caplog):
    def broken():
        raise KeyError("secret")

    with watched(counted=broken) as port:
        status, _, text = ask(port, "/metrics")
        assert ask(port, "/health/live")[0] == 200
    assert status == 500
    assert "secret" not in text
    assert "a watcher could not be answered" in caplog.text


def test_nobody_is_told_what_is_behind_it():
    with watched() as port, socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        head = connection.makefile("rb").read().split(b"\r\n\r\n")[0].lower()
    assert b"server: facefusion" in head
    assert b"python" not in head


def test_only_questions_are_answered():
    with watched() as port:
        assert ask(port, "/metrics", "POST")[0] == 501


def test_an_address_that_is_taken_is_refused():
    with watched() as port, pytest.raises(OSError, match="in use"):
        serve_watchers("127.0.0.1", port, exposition, None)
