"""Servers as processes that share a Redis: one that is killed in a call loses none."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from facefusion.service.redis_link import RedisLink
from facefusion.service.redis_queue import RedisQueue
from tests.app.conftest import SOURCE
from tests.service.server_process import ServerProcess
from tests.service.test_callbacks import Receiver

pytestmark = pytest.mark.service

PATIENCE_SECONDS = 60.0
SECRET = "a secret of thirty-two letters, or more"


def waited(holds) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_server_that_is_killed_in_a_call_loses_none(redis_url: str, tmp_path: Path) -> None:
    receiver = Receiver()
    link = RedisLink(redis_url)
    queue = RedisQueue(link)
    hosts = f"private:http://127.0.0.1:{receiver.port}"
    variables = {"REDIS_URL": redis_url, "API_CALLBACK_SECRET": SECRET, "FACEFUSION_CALLBACK_HOSTS": hosts}
    try:
        with ServerProcess(tmp_path, variables=variables) as first:
            client = first.begin().client()
            asset = client.post("/v1/assets", content=SOURCE.read_bytes()).json()["id"]
            request = {
                "target": asset,
                "sources": [asset],
                "callback": {"url": f"http://127.0.0.1:{receiver.port}/hook?key=of-the-receiver"},
            }
            job = client.post("/v1/jobs", json=request).json()["id"]
            receiver.wait.clear()
            assert client.delete(f"/v1/jobs/{job}").json()["state"] == "cancelled"
            waited(lambda: len(receiver.came) == 1)
            client.close()
            first.stop(signal.SIGKILL)
        assert "of-the-receiver" not in "".join(first.lines)
        receiver.wait.set()
        link.run("postpone_call", None, job, 0)  # what a minute does too
        with ServerProcess(tmp_path, variables=variables) as second:
            client = second.begin().client()
            waited(lambda: link.call("ZCARD", link.key("calls")) == 0)
            told = client.get("/metrics").text
            client.close()
            assert second.stop() == 0
        assert 'facefusion_callbacks_total{outcome="delivered"} 1.0' in told
        assert "of-the-receiver" not in "".join(second.lines)
        assert [headers["webhook-id"] for _, headers, _ in receiver.came] == [job, job]
        assert queue.outbox.take(0) is None
        assert '"call back"' in (tmp_path / ".service" / "audit.jsonl").read_text()
    finally:
        receiver.end()
        link.close()
