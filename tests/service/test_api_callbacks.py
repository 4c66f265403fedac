"""Jobs that ask for a call at their end."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from facefusion.core.errors import SetupError
from facefusion.service.callback_hosts import CallbackHosts
from facefusion.service.callbacks import Caller, Courier
from tests.service.api import Api
from tests.service.server_process import ServerProcess
from tests.service.test_callbacks import KEY, Receiver, at_loopback

pytestmark = pytest.mark.service

URL = "https://example.org/hook?token=x"


@pytest.fixture
def api(tmp_path: Path) -> Api:
    return Api(tmp_path)


def allow(api: Api, *entries: str, courier: Courier | None = None) -> None:
    api.app.state.service = replace(api.service, callbacks=CallbackHosts(entries), courier=courier)


def test_without_hosts_of_the_operator_nobody_is_called(api: Api) -> None:
    refused = api.submit(callback={"url": URL})
    assert refused.status_code == 422
    (fault,) = refused.json()["errors"]
    assert fault["field"] == "callback.url"
    assert "its operator allows no hosts" in fault["detail"]
    assert api.queue.list(None, limit=9, before=None) == []


def test_a_host_that_is_allowed_is_kept_with_the_job_and_told_to_nobody(api: Api) -> None:
    allow(api, "example.org")
    answer = api.submit(callback={"url": URL})
    assert answer.status_code == 201, answer.text
    job = api.queue.find(answer.json()["id"])
    assert job is not None
    assert job.callback == URL
    assert "example.org" not in answer.text
    assert "example.org" not in api.audit_path.read_text()


@pytest.mark.parametrize(
    "callback",
    [
        {"url": "http://example.org/"},
        {"url": "https://127.0.0.1/"},
        {"url": "x" * 3000},
        {},
        "https://example.org/",
        {"url": URL, "secret": "x"},
    ],
)
def test_anything_else_is_refused(api: Api, callback: object) -> None:
    allow(api, "example.org")
    assert api.submit(callback=callback).status_code == 422


def test_the_server_calls_when_the_job_is_done(api: Api) -> None:
    receiver = Receiver()
    counted: list[str] = []
    try:
        hosts = (f"private:http://hooks.example:{receiver.port}",)
        courier = Courier(
            api.queue.outbox, CallbackHosts(hosts), Caller(KEY, at_loopback), api.service.audit, counted.append
        )
        allow(api, *hosts, courier=courier)
        with api.client:
            job = api.job(callback={"url": f"http://hooks.example:{receiver.port}/x"})
            api.complete(job)
            end = time.monotonic() + 20
            while not counted:
                assert time.monotonic() < end
                time.sleep(0.02)
        ((path, headers, _),) = receiver.came
        assert (path, headers["webhook-id"], counted) == ("/x", job, ["delivered"])
        lines = [line for line in api.audited() if line["action"] == "call back"]
        assert [(line["subject"], line["job"], line["outcome"]) for line in lines] == [("user:ann", job, "done")]
    finally:
        receiver.end()


def test_a_server_without_a_secret_to_sign_with_does_not_start(tmp_path: Path) -> None:
    with ServerProcess(tmp_path, "serve", "--callback-hosts", "example.org") as server:
        assert server.end() == SetupError("").exit_code
    assert "--callback-hosts lets jobs have somebody called, and there is no secret to sign that with" in "".join(
        server.lines
    )
