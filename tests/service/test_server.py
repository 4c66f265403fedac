"""The server as its operators run it: in a process of its own, with a real queue."""

from __future__ import annotations

import io
import signal
import socket
import threading

import numpy as np
import pytest
from PIL import Image

from facefusion.core.errors import SetupError
from facefusion.service.server import listen
from tests.service.server_process import ServerProcess

pytestmark = pytest.mark.service


def picture(shade=90):
    data = io.BytesIO()
    Image.fromarray(np.full((64, 96, 3), shade, np.uint8)).save(data, "PNG")
    return data.getvalue()


def upload(client, data):
    answer = client.post("/v1/assets", content=data)
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


STEP = {"processors": ["face_debugger"]}


def test_a_job_goes_all_the_way_in_one_process(tmp_path, embedded_models, model_path):
    models = str(model_path("yunet").parent)
    words = ("run", "--execution-providers", "cpu", "--models-path", models)
    with ServerProcess(tmp_path, *words).begin() as server, server.client() as client:
        target = upload(client, picture())
        answer = client.post("/v1/jobs", json={"target": target, "step": STEP})
        assert answer.status_code == 201, answer.text
        job = answer.json()["id"]
        with client.stream("GET", f"/v1/jobs/{job}/events") as events:
            text = events.read().decode()
        assert "event: end" in text
        shown = client.get(f"/v1/jobs/{job}").json()
        assert shown["state"] == "completed", shown["fault"]
        assert shown["report"]["frames"] == 1
        result = client.get(f"/v1/jobs/{job}/result")
        assert Image.open(io.BytesIO(result.content)).size == (96, 64)
        assert server.stop() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_when_it_is_asked_to_and_streams_with_it(tmp_path, redis_url, number):
    with ServerProcess(tmp_path, variables={"REDIS_URL": redis_url}).begin() as server, server.client() as client:
        job = client.post("/v1/jobs", json={"target": upload(client, picture()), "step": STEP}).json()["id"]
        begun, read = threading.Event(), []

        def watch():
            with client.stream("GET", f"/v1/jobs/{job}/events") as events:
                for line in events.iter_lines():
                    read.append(line)
                    begun.set()

        thread = threading.Thread(target=watch)
        thread.start()
        assert begun.wait(30)
        assert server.stop(number) == 0
        thread.join()
        assert read[0] == "event: progress"


def test_replicas_share_the_fleets_queue_and_files(tmp_path, redis_url):
    variables = {"REDIS_URL": redis_url}
    with ServerProcess(tmp_path, variables=variables).begin() as one, one.client() as first:
        target = upload(first, picture())
        body = {"target": target, "step": STEP, "priority": "high"}
        job = first.post("/v1/jobs", json=body, headers={"Idempotency-Key": "k"}).json()
        with ServerProcess(tmp_path, variables=variables).begin() as two, two.client() as second:
            one.process.kill()
            shown = second.get(f"/v1/jobs/{job['id']}").json()
            assert (shown["state"], shown["priority"], shown["target"]) == ("queued", "high", target)
            again = second.post("/v1/jobs", json=body, headers={"Idempotency-Key": "k"})
            assert (again.status_code, again.json()["id"]) == (200, job["id"])
            other = second.post("/v1/jobs", json={**body, "priority": "low"}, headers={"Idempotency-Key": "k"})
            assert other.status_code == 409
            assert second.delete(f"/v1/assets/{target}").status_code == 409
            assert second.delete(f"/v1/jobs/{job['id']}").json()["state"] == "cancelled"
            assert second.delete(f"/v1/jobs/{job['id']}").status_code == 204
            assert second.delete(f"/v1/assets/{target}").status_code == 204
            assert [path.name for path in (tmp_path / ".service" / "assets").iterdir()] == []


def test_requests_are_counted_by_all_replicas_together(tmp_path, redis_url):
    words = ("serve", "--requests-per-minute", "5")
    variables = {"REDIS_URL": redis_url}
    with (
        ServerProcess(tmp_path, *words, variables=variables) as one,
        ServerProcess(tmp_path, *words, variables=variables) as two,
    ):
        statuses = []
        for server in (one.begin(), two.begin()):
            with server.client() as client:
                statuses += [client.get("/v1/jobs").status_code for _ in range(3)]
        assert statuses == [200] * 5 + [429]


def test_without_redis_the_service_says_so_and_goes_on_when_it_is_back(tmp_path, redis_server):
    with (
        ServerProcess(tmp_path, variables={"REDIS_URL": redis_server.url}).begin() as server,
        server.client() as client,
    ):
        job = client.post("/v1/jobs", json={"target": upload(client, picture()), "step": STEP}).json()["id"]
        redis_server.kill()
        answer = client.get(f"/v1/jobs/{job}")
        assert answer.status_code == 503
        assert answer.headers["content-type"] == "application/problem+json"
        assert str(redis_server.port) not in answer.text
        assert client.get("/health/live").status_code == 200
        ready = client.get("/health/ready")
        assert (ready.status_code, ready.json()["checks"]["queue"]) == (503, "cannot be used")
        metrics = client.get("/metrics")
        assert metrics.status_code == 200
        assert "\nfacefusion_queue_reachable 0.0\n" in metrics.text
        redis_server.start()
        assert client.get(f"/v1/jobs/{job}").json()["state"] == "queued"


@pytest.mark.parametrize("command", ["serve", "run"])
def test_others_do_not_reach_it_without_a_token(tmp_path, command):
    with ServerProcess(tmp_path, command, "--listen-host", "0.0.0.0", token=None) as server:
        assert server.end() == 2
        assert server.lines == [
            "error: --listen-host 0.0.0.0: others could reach the service, and no token is set. "
            "Set API_TOKEN (or API_JWT_SECRET, or --jwt-issuer), or listen on 127.0.0.1.\n"
        ]


def test_auto_is_this_machine_without_a_token_and_every_address_with_one(tmp_path):
    with ServerProcess(tmp_path, "run", "--listen-host", "auto", token=None).begin() as server:
        assert server.url.startswith("http://127.0.0.1:")
        with server.client() as client:
            assert client.get("/v1/jobs").status_code == 200
            assert client.get("/v1/jobs", headers={"Host": "evil.example"}).status_code == 403
    with ServerProcess(tmp_path, "run", "--listen-host", "auto").begin() as server:
        assert server.url.startswith("http://0.0.0.0:")


def test_an_address_that_is_taken_is_said(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        with ServerProcess(tmp_path, "serve", port=port) as server:
            assert server.end() == 2
            assert server.lines == [
                f"error: --listen-host 127.0.0.1 --listen-port {port}: cannot be listened on (address already in use). "
                "Choose another port if a program listens there, and an address of this machine's.\n"
            ]


@pytest.mark.parametrize("host", ["192.0.2.1", "x" * 70, "a..b"])
def test_an_address_that_is_not_this_machines_is_said(host):
    with pytest.raises(SetupError) as refused:
        listen(host, 0)
    assert str(refused.value).startswith(f"--listen-host {host} --listen-port 0: cannot be listened on (")


def test_an_address_of_ipv6_can_be_listened_on():
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    with listen("::1", 0) as listening:
        assert listening.getsockname()[0] == "::1"


def test_a_proxy_that_is_trusted_speaks_for_others_and_another_does_not(tmp_path):
    for words, address in ((("serve",), "127.0.0.1"), (("serve", "--trusted-proxies", "127.0.0.0/8"), "203.0.113.9")):
        storage = tmp_path / address
        with (
            ServerProcess(tmp_path, *words, "--storage-path", str(storage)).begin() as server,
            server.client() as client,
        ):
            client.post("/v1/assets", content=picture(), headers={"X-Forwarded-For": "203.0.113.9"})
            assert f'"address": "{address}"' in (storage / "audit.jsonl").read_text()


def test_a_storage_that_cannot_be_used_is_said(tmp_path):
    (tmp_path / "file").touch()
    with ServerProcess(tmp_path, "serve", "--storage-path", "file/under") as server:
        assert server.end() != 0
        assert server.lines[-1].startswith("error: ")
        assert "Traceback" not in "".join(server.lines)
