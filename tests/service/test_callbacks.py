"""Calls at the end of jobs: to real little servers, with and without TLS."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import ipaddress
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from facefusion.core.errors import SetupError
from facefusion.service import callbacks
from facefusion.service.audit import AuditLog
from facefusion.service.callback_hosts import Address, CallbackHosts
from facefusion.service.callbacks import HOLD_SECONDS, PAUSES, Caller, Courier, signature, signing_key
from facefusion.service.outbox import MemoryOutbox
from facefusion.service.records import JobRecord, JobState, Result
from tests.service.fakes import Clock
from tests.service.jobs import job

pytestmark = pytest.mark.service

KEY = b"k" * 32
LOOPBACK = ipaddress.ip_address("127.0.0.1")


class Receiver:
    """Answers calls, each with the next of its statuses, and keeps what came."""

    def __init__(self, trust: ssl.SSLContext | None = None) -> None:
        self.came: list[tuple[str, dict[str, str], bytes]] = []
        self.statuses: list[int] = []
        self.names: list[str | None] = []
        self.location = ""
        self.wait = threading.Event()
        self.wait.set()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.came.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
                receiver.wait.wait(30)
                self.send_response(receiver.statuses.pop(0) if receiver.statuses else 204)
                if receiver.location:
                    self.send_header("Location", receiver.location)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_GET = do_POST  # noqa: N815 - as the library has it

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if trust is not None:
            trust.sni_callback = lambda _socket, name, _context: self.names.append(name)
            self._server.socket = trust.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    def end(self) -> None:
        self.wait.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.end()


def done(url: str, number: int = 1) -> JobRecord:
    result = Result("5e1f" * 16, 10, "video/mp4", ".mp4", 2e9)
    return replace(
        job(number), state=JobState.COMPLETED, created=1.5, started=2.0, ended=3.25, result=result, callback=url
    )


async def at_loopback(host: str, port: int) -> Sequence[Address]:
    return [LOOPBACK]


class Desk:
    """A courier, and all that it works with."""

    def __init__(self, folder: Path, *hosts: str, caller: Caller | None = None) -> None:
        self.clock = Clock()
        self.outbox = MemoryOutbox(self.clock)
        self.counted: list[str] = []
        self.audit = folder / "audit.jsonl"
        caller = caller or Caller(KEY, at_loopback, clock=self.clock)
        self.courier = Courier(self.outbox, CallbackHosts(hosts), caller, AuditLog(self.audit), self.counted.append)

    def work(self) -> bool:
        return asyncio.run(self.courier.call_next())

    def audited(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.audit.read_text().splitlines()] if self.audit.exists() else []


def test_a_call_says_how_a_job_ended_and_is_signed(receiver: Receiver, tmp_path: Path) -> None:
    desk = Desk(tmp_path, f"private:http://hooks.example:{receiver.port}")
    desk.outbox.put(done(f"http://hooks.example:{receiver.port}/a/b?c=d%20e"))
    assert desk.work()
    ((path, headers, body),) = receiver.came
    assert path == "/a/b?c=d%20e"
    assert headers["host"] == f"hooks.example:{receiver.port}"
    assert headers["content-type"] == "application/json"
    assert json.loads(body) == {
        "type": "job.completed",
        "timestamp": "1970-01-01T00:00:03.250+00:00",
        "data": {
            "id": "job1",
            "state": "completed",
            "created": 1.5,
            "started": 2.0,
            "ended": 3.25,
            "links": {"job": "/v1/jobs/job1", "result": "/v1/jobs/job1/result"},
        },
    }
    assert headers["webhook-id"] == "job1"
    assert headers["webhook-timestamp"] == str(int(desk.clock.now))
    signed = b"job1." + headers["webhook-timestamp"].encode() + b"." + body
    expected = base64.b64encode(hmac.digest(KEY, signed, hashlib.sha256)).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
    assert "authorization" not in headers
    assert "cookie" not in headers
    assert desk.counted == ["delivered"]
    (line,) = desk.audited()
    assert (line["action"], line["job"], line["outcome"]) == ("call back", "job1", "done")
    assert "hooks" not in desk.audit.read_text()
    assert not desk.work()


def test_the_example_of_standard_webhooks_is_signed_as_it_says() -> None:
    key = signing_key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    body = b'{"test": 2432232314}'
    made = signature(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body)
    assert made == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_secret_is_its_own_text_or_what_it_says_in_base64() -> None:
    assert signing_key("a plain secret") == b"a plain secret"
    with pytest.raises(SetupError, match="API_CALLBACK_SECRET begins with whsec_, and what follows is no base64"):
        signing_key("whsec_???")


def test_a_call_that_fails_is_made_again_later_and_later_and_given_up(
    receiver: Receiver, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    desk = Desk(tmp_path, f"private:http://hooks.example:{receiver.port}")
    desk.outbox.put(done(f"http://hooks.example:{receiver.port}/secret-path"))
    receiver.statuses = [500] * 20
    for tries, pause in enumerate(PAUSES, 1):
        assert desk.work()
        assert desk.counted == ["failed"] * tries
        desk.clock.now += pause - 1
        assert not desk.work()
        desk.clock.now += 2
    assert desk.audited() == []
    assert desk.work()
    assert desk.counted[-1] == "given_up"
    assert len(receiver.came) == len(PAUSES) + 1
    assert {headers["webhook-id"] for _, headers, _ in receiver.came} == {"job1"}
    assert [line["outcome"] for line in desk.audited()] == ["given-up"]
    desk.clock.now += 1e6
    assert not desk.work()
    assert "it answered with status 500" in caplog.text
    assert "secret-path" not in caplog.text


def test_a_receiver_that_wants_no_more_is_left_alone(receiver: Receiver, tmp_path: Path) -> None:
    desk = Desk(tmp_path, f"private:http://hooks.example:{receiver.port}")
    desk.outbox.put(done(f"http://hooks.example:{receiver.port}/"))
    receiver.statuses = [410]
    assert desk.work()
    assert desk.counted == ["given_up"]


def test_no_redirect_is_followed(receiver: Receiver, tmp_path: Path) -> None:
    desk = Desk(tmp_path, f"private:http://hooks.example:{receiver.port}")
    desk.outbox.put(done(f"http://hooks.example:{receiver.port}/first"))
    receiver.statuses = [302]
    receiver.location = f"http://hooks.example:{receiver.port}/second"
    assert desk.work()
    assert [path for path, _, _ in receiver.came] == ["/first"]
    assert desk.counted == ["failed"]


def test_a_name_that_leads_to_this_machine_is_not_followed(
    receiver: Receiver, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    desk = Desk(tmp_path, f"http://hooks.example:{receiver.port}")
    desk.outbox.put(done(f"http://hooks.example:{receiver.port}/"))
    assert desk.work()
    assert receiver.came == []
    assert desk.counted == ["failed"]
    assert "an address that is not public" in caplog.text


def test_one_address_that_is_not_public_is_enough(receiver: Receiver, tmp_path: Path) -> None:
    async def mixed(host: str, port: int) -> Sequence[Address]:
        return [ipaddress.ip_address("8.8.8.8"), LOOPBACK]

    desk = Desk(tmp_path, f"http://hooks.example:{receiver.port}", caller=Caller(KEY, mixed))
    desk.outbox.put(done(f"http://hooks.example:{receiver.port}/"))
    assert desk.work()
    assert (receiver.came, desk.counted) == ([], ["failed"])


def test_a_name_is_asked_for_once_and_what_was_checked_is_called(receiver: Receiver, tmp_path: Path) -> None:
    asked: list[str] = []

    async def rebinding(host: str, port: int) -> Sequence[Address]:
        asked.append(host)
        return [LOOPBACK if len(asked) == 1 else ipaddress.ip_address("192.0.2.1")]

    desk = Desk(tmp_path, f"private:http://no-such-host.invalid:{receiver.port}", caller=Caller(KEY, rebinding))
    desk.outbox.put(done(f"http://no-such-host.invalid:{receiver.port}/"))
    assert desk.work()
    assert asked == ["no-such-host.invalid"]
    assert desk.counted == ["delivered"]


def test_no_host_is_where_clouds_tell_their_machines_secrets(
    receiver: Receiver, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Not even one of which the operator says that it is of a private network."""

    async def mixed(host: str, port: int) -> Sequence[Address]:
        return [LOOPBACK, ipaddress.ip_address("169.254.169.254")]

    desk = Desk(tmp_path, f"private:http://hooks.example:{receiver.port}", caller=Caller(KEY, mixed))
    desk.outbox.put(done(f"http://hooks.example:{receiver.port}/"))
    assert desk.work()
    assert (receiver.came, desk.counted) == ([], ["failed"])
    assert "its host has an address at which clouds tell their machines secrets" in caplog.text


def test_a_host_that_is_no_longer_allowed_is_not_called(receiver: Receiver, tmp_path: Path) -> None:
    desk = Desk(tmp_path, "another.example")
    desk.outbox.put(done(f"http://hooks.example:{receiver.port}/"))
    assert desk.work()
    assert (receiver.came, desk.counted) == ([], ["given_up"])


def test_a_receiver_that_hangs_is_not_waited_for(
    receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(callbacks, "CALL_SECONDS", 0.3)
    desk = Desk(tmp_path, f"private:http://hooks.example:{receiver.port}")
    desk.outbox.put(done(f"http://hooks.example:{receiver.port}/"))
    receiver.wait.clear()
    assert desk.work()
    assert desk.counted == ["failed"]


def test_who_cannot_be_reached_is_called_again(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "private:http://hooks.example:9")
    desk.outbox.put(done("http://hooks.example:9/"))
    assert desk.work()
    assert desk.counted == ["failed"]


def test_a_host_that_is_not_known_is_called_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    desk = Desk(tmp_path, "no-such-host.invalid", caller=Caller(KEY))
    desk.outbox.put(done("https://no-such-host.invalid/"))
    assert desk.work()
    assert desk.counted == ["failed"]
    assert "its host is not known" in caplog.text


def test_who_took_a_call_and_ended_loses_none(tmp_path: Path, receiver: Receiver) -> None:
    desk = Desk(tmp_path, f"private:http://hooks.example:{receiver.port}")
    desk.outbox.put(done(f"http://hooks.example:{receiver.port}/"))
    assert desk.outbox.take(HOLD_SECONDS) is not None
    assert not desk.work()
    desk.clock.now += HOLD_SECONDS + 1
    assert desk.work()
    assert desk.counted == ["delivered"]


def test_a_courier_makes_what_is_due_until_it_is_cancelled(tmp_path: Path, receiver: Receiver) -> None:
    desk = Desk(tmp_path, f"private:http://hooks.example:{receiver.port}")
    for number in range(1, 7):
        desk.outbox.put(done(f"http://hooks.example:{receiver.port}/", number))

    async def work() -> None:
        task = asyncio.create_task(desk.courier.run())
        end = time.monotonic() + 20
        while len(desk.counted) < 6:
            assert time.monotonic() < end
            await asyncio.sleep(0.02)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(work())
    assert sorted(headers["webhook-id"] for _, headers, _ in receiver.came) == [f"job{n}" for n in range(1, 7)]


@pytest.fixture
def authority(tmp_path: Path) -> Callable[[str], tuple[ssl.SSLContext, ssl.SSLContext]]:
    """What makes a server's TLS, for a name, and the trust that knows it."""

    def make(name: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a test")])
        now = datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(hours=1))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(key, hashes.SHA256())
        )
        path = tmp_path / "server.pem"
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        path.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
        server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.load_cert_chain(path)
        trust = ssl.create_default_context(cadata=certificate.public_bytes(serialization.Encoding.PEM).decode())
        return server, trust

    return make


def test_over_tls_the_name_is_what_is_vouched_for(
    authority: Callable[[str], tuple[ssl.SSLContext, ssl.SSLContext]], tmp_path: Path
) -> None:
    server, trust = authority("hooks.example")
    receiver = Receiver(server)
    try:
        desk = Desk(tmp_path, f"private:hooks.example:{receiver.port}", caller=Caller(KEY, at_loopback, trust))
        desk.outbox.put(done(f"https://hooks.example:{receiver.port}/x"))
        assert desk.work()
        assert desk.counted == ["delivered"]
        assert receiver.names == ["hooks.example"]
        assert receiver.came[0][1]["host"] == f"hooks.example:{receiver.port}"
    finally:
        receiver.end()


@pytest.mark.parametrize("name", ["another.example", "hooks.example"])
def test_a_server_that_nobody_vouches_for_is_told_nothing(
    authority: Callable[[str], tuple[ssl.SSLContext, ssl.SSLContext]], tmp_path: Path, name: str
) -> None:
    server, trust = authority(name)
    receiver = Receiver(server)
    known = trust if name == "another.example" else ssl.create_default_context()
    try:
        desk = Desk(tmp_path, f"private:hooks.example:{receiver.port}", caller=Caller(KEY, at_loopback, known))
        desk.outbox.put(done(f"https://hooks.example:{receiver.port}/x"))
        assert desk.work()
        assert desk.counted == ["failed"]
        assert receiver.came == []
    finally:
        receiver.end()
