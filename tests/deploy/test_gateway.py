"""The gateway's configuration in a real nginx, before two servers that stand for replicas of the API."""

from __future__ import annotations

import datetime
import http.client
import http.server
import json
import os
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.files import text

pytestmark = pytest.mark.service

ADDRESS = "127.0.0.1"


class Replica(http.server.ThreadingHTTPServer):
    """Says what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__((ADDRESS, 0), Handler)
        self.gate = threading.Event()
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Replica

    def _answer(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        body = json.dumps(
            {
                "replica": self.server.server_port,
                "path": self.path,
                "from": self.headers["X-Forwarded-For"],
                "bytes": len(self.rfile.read(size)),
            }
        ).encode()
        self.send_response(429 if self.path == "/v1/full" else 200)
        if self.path == "/v1/full":
            self.send_header("Retry-After", "77")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        if not self.path.endswith("/events"):
            self._answer()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b"data: first\n\n")
        self.wfile.flush()
        self.server.gate.wait(20)
        self.wfile.write(b"data: last\n\n")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        pass


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind((ADDRESS, 0))
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def gateway(folder: Path, ports: list[int], rate: str = "rate=20r/s", tls_port: int = 0) -> Iterator[int]:
    """An nginx of this machine with our files, but for Docker's name service and the places of files."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    assert program, "nginx is missing: apt-get install nginx-light"
    port = free_port()
    servers = "".join(f"server {ADDRESS}:{each};" for each in ports)
    changes = {
        "main.conf": {"/tmp/": f"{folder}/", "/dev/stderr": f"{folder}/errors"},
        "http.conf": {"/tmp/": f"{folder}/", "/dev/stdout": f"{folder}/access", "rate=20r/s": rate},
        "upstream.conf": {
            "resolver 127.0.0.11 valid=5s;": "",
            "server api:7860 resolve max_fails=2 fail_timeout=5s;": servers,
        },
        "api.conf": {},
        "gateway.conf": {"listen 7860;": f"listen {ADDRESS}:{port};"},
        "tls.conf": {
            "listen 7860;": f"listen {ADDRESS}:{port};",
            "listen 8443 ssl;": f"listen {ADDRESS}:{tls_port} ssl;",
            "http2 on;": "",  # which Debian's is too old for
            "/etc/tls/": f"{folder}/",
        },
    }
    for name, pairs in changes.items():
        source = text(f"deploy/nginx/{name}")
        for ours, here in pairs.items():
            assert ours in source
            source = source.replace(ours, here)
        (folder / name).write_text(source, encoding="utf-8")
    # Under root its workers would be nobody, who may not write to the test's folder.
    directives = f"daemon off; {'user root;' if os.getuid() == 0 else ''}"
    process = subprocess.Popen(
        [
            program,
            "-e",
            folder / "errors",
            "-c",
            folder / ("tls.conf" if tls_port else "gateway.conf"),
            "-g",
            directives,
        ]
    )
    try:
        _wait_for(port)
        yield port
    finally:
        process.terminate()
        process.wait(20)


def _wait_for(port: int) -> None:
    for _ in range(200):
        with socket.socket() as client:
            if client.connect_ex((ADDRESS, port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError("nginx does not listen")


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Message
    body: bytes

    @property
    def document(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads(self.body)
        return loaded


@contextmanager
def asking(port: int, path: str, body: bytes | None = None) -> Iterator[http.client.HTTPResponse]:
    """Ask as a client that claims to speak for somebody else."""
    connection = http.client.HTTPConnection(ADDRESS, port, timeout=20)
    try:
        connection.request("GET" if body is None else "POST", path, body, {"X-Forwarded-For": "6.6.6.6"})
        yield connection.getresponse()
    finally:
        connection.close()


def ask(port: int, path: str, body: bytes | None = None) -> Answer:
    with asking(port, path, body) as answer:
        return Answer(answer.status, answer.headers, answer.read())


@pytest.fixture
def replicas() -> Iterator[list[Replica]]:
    servers = [Replica(), Replica()]
    yield servers
    for server in servers:
        server.gate.set()
        server.shutdown()
        server.server_close()


def test_requests_go_to_all_replicas_and_say_whom_they_are_from(tmp_path, replicas):
    with gateway(tmp_path, [it.server_port for it in replicas]) as port:
        answers = [ask(port, "/v1/jobs").document for _ in range(8)]
        assert {it["replica"] for it in answers} == {it.server_port for it in replicas}
        assert {it["from"] for it in answers} == {ADDRESS}, "what a client claims is not passed on"


def test_one_replica_that_is_gone_is_passed_over_and_none_is_said(tmp_path, replicas):
    with gateway(tmp_path, [free_port(), replicas[0].server_port]) as port:
        assert {ask(port, "/v1/jobs").status for _ in range(6)} == {200}
    with gateway(tmp_path, [free_port()]) as port:
        answer = ask(port, "/v1/jobs")
        assert (answer.status, answer.headers["Retry-After"]) == (503, "5")
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert answer.document["status"] == 503


def test_metrics_are_not_for_those_outside(tmp_path, replicas):
    with gateway(tmp_path, [replicas[0].server_port]) as port:
        assert ask(port, "/metrics").status == 404
        assert ask(port, "/health/live").status == 200


def test_who_asks_too_often_is_told_so_in_the_api_s_form(tmp_path, replicas):
    # So slow that nothing is made up for while the test lasts.
    with gateway(tmp_path, [replicas[0].server_port], rate="rate=1r/m") as port:
        answers = [ask(port, "/v1/jobs") for _ in range(63)]
        assert [it.status for it in answers] == [200] * 61 + [429] * 2
        assert answers[-1].document["title"] == "Too Many Requests"
        assert answers[-1].headers["Retry-After"] == "1"
        assert answers[-1].headers["Content-Type"] == "application/problem+json"


def test_the_api_s_own_refusals_pass_as_they_are(tmp_path, replicas):
    with gateway(tmp_path, [replicas[0].server_port]) as port:
        answer = ask(port, "/v1/full")
        assert (answer.status, answer.headers["Retry-After"]) == (429, "77")
        assert answer.document["path"] == "/v1/full"


def test_an_upload_passes_without_being_written_down_and_one_too_large_does_not(tmp_path, replicas):
    with gateway(tmp_path, [replicas[0].server_port]) as port:
        assert ask(port, "/v1/assets", b"x" * (8 << 20)).document["bytes"] == 8 << 20
        assert list((tmp_path / "client").iterdir()) == []
        with socket.create_connection((ADDRESS, port), timeout=20) as client:
            client.sendall(b"POST /v1/assets HTTP/1.1\r\nHost: a\r\nContent-Length: 5000000000\r\n\r\n")
            head, _, body = client.recv(65536).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 413 ")
        assert b"application/problem+json" in head
        assert json.loads(body)["status"] == 413


def test_progress_comes_as_it_is_told(tmp_path, replicas):
    with gateway(tmp_path, [replicas[0].server_port]) as port, asking(port, "/v1/jobs/1/events") as answer:
        assert answer.readline() == b"data: first\n"
        replicas[0].gate.set()
        assert b"data: last" in answer.read()


def certificate(folder: Path) -> None:
    """A key and a certificate for this machine, which it signs itself."""
    # A package of the service, which may lack where these tests are not asked for.
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "tls.crt").write_bytes(made.public_bytes(Encoding.PEM))
    (folder / "tls.key").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


def test_the_proxy_speaks_tls_of_today_only(tmp_path, replicas):
    certificate(tmp_path)
    tls_port = free_port()
    trusted = ssl.create_default_context(cafile=str(tmp_path / "tls.crt"))
    with gateway(tmp_path, [replicas[0].server_port], tls_port=tls_port):
        connection = http.client.HTTPSConnection("localhost", tls_port, timeout=20, context=trusted)
        connection.request("GET", "/v1/jobs")
        answer = connection.getresponse()
        assert (answer.status, json.load(answer)["path"]) == (200, "/v1/jobs")
        assert answer.headers["Strict-Transport-Security"] == "max-age=31536000"
        connection.close()
        old = ssl.create_default_context(cafile=str(tmp_path / "tls.crt"))
        old.set_ciphers("ALL:@SECLEVEL=0")
        with pytest.warns(DeprecationWarning):
            old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
        with socket.create_connection(("localhost", tls_port), timeout=20) as plain, pytest.raises(OSError):
            old.wrap_socket(plain, server_hostname="localhost")
