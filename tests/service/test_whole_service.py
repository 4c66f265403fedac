"""All of it as processes: API, workers with the real engine, Celery, Redis. Results have the bytes of ``run``."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import httpx
import pytest

from facefusion.service.redis_link import RedisLink
from tests.app.conftest import SOURCE, TARGET

pytestmark = pytest.mark.service

ROOT = Path(__file__).parents[2]
LENGTH, FRAMES = 14, 60
TOKEN = "a token of this test"
PATIENCE_SECONDS = 90.0


class Program:
    """Commands of one machine, with a storage and a Redis of their own."""

    def __init__(self, folder: Path, url: str, models: Path, variables: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self.link = RedisLink(url)
        self._environment = {
            **os.environ,
            "API_TOKEN": TOKEN,
            "FACEFUSION_MODELS_PATH": str(models),
            "FACEFUSION_STORAGE_PATH": "storage",
            "PYTHONPATH": str(ROOT),
            "REDIS_URL": url,
            **(variables or {}),
        }
        self._processes: list[subprocess.Popen[bytes]] = []
        self._clients: list[httpx.Client] = []
        for path in (SOURCE, TARGET):
            shutil.copy(path, folder)

    def start(self, command: str, *words: str) -> subprocess.Popen[bytes]:
        log = self.folder / f"{command}-{len(self._processes)}.log"
        with log.open("wb") as file:
            process = subprocess.Popen(
                self._words((command, *words)), cwd=self.folder, env=self._environment, stdout=file, stderr=file
            )
        self._processes.append(process)
        return process

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._words(words), cwd=self.folder, env=self._environment, capture_output=True, text=True, check=False
        )

    def single(self) -> bytes:
        """The result of ``run``."""
        words = ("-s", SOURCE.name, "-t", TARGET.name, "-o", "single.mp4", "--trim-frame-end", str(FRAMES))
        done = self.call("run", *words)
        assert done.returncode == 0, done.stderr
        return (self.folder / "single.mp4").read_bytes()

    def wait(self, holds: Callable[[], object]) -> None:
        end = time.monotonic() + PATIENCE_SECONDS
        while not holds():
            assert time.monotonic() < end, self.log()
            time.sleep(0.1)

    def held(self) -> list[str]:
        """Segments that are rendered at the moment."""
        names = self.link.call("ZRANGE", self.link.key("leases"), 0, -1)
        return [name for name in names if name.rpartition("|")[2].isdigit()]

    def log(self) -> str:
        return "\n".join(f"{path.name}:\n{path.read_text()}" for path in sorted(self.folder.glob("*.log")))

    def client(self, count: int = 1) -> httpx.Client:
        """For the server that was started as the last one of so many."""

        def urls() -> list[str]:
            return re.findall(r"Serving the API on (\S+);", self.log())

        self.wait(lambda: len(urls()) == count)
        headers = {"Authorization": f"Bearer {TOKEN}"}
        self._clients.append(httpx.Client(base_url=urls()[-1], headers=headers, timeout=PATIENCE_SECONDS))
        return self._clients[-1]

    def end(self) -> None:
        for client in self._clients:
            client.close()
        for process in self._processes:
            process.kill()
            process.wait()
        self.link.close()

    def _words(self, words: tuple[str, ...]) -> list[str]:
        return [sys.executable, "-m", "tests.service.short_segments", str(LENGTH), *words]


@pytest.fixture
def program(tmp_path: Path, redis_url: str, model_path: Callable[[str], Path]) -> Iterator[Program]:
    program = Program(tmp_path, redis_url, model_path("yunet").parent)
    yield program
    program.end()


@pytest.mark.parametrize("workers", [1, 2])
def test_a_fleet_makes_the_bytes_of_a_run_also_when_a_worker_is_killed(program: Program, workers: int) -> None:
    expected = program.single()
    fleet = [program.start("worker") for _ in range(workers)]
    words = ("-s", SOURCE.name, "-t", TARGET.name, "-o", "{target_name}-fleet{target_extension}")
    waiting = program.start("submit", *words, "--trim-frame-end", str(FRAMES), "--wait")
    program.wait(lambda: len(program.held()) == workers)
    if workers == 2:
        fleet[0].send_signal(signal.SIGKILL)
    assert waiting.wait(PATIENCE_SECONDS) == 0, program.log()
    assert (program.folder / f"{TARGET.stem}-fleet.mp4").read_bytes() == expected
    fleet[-1].send_signal(signal.SIGTERM)
    assert fleet[-1].wait(PATIENCE_SECONDS) == 0, program.log()
    assert list((program.folder / "storage/segments").iterdir()) == []


def test_a_worker_says_that_it_is_ready(program: Program) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    worker = program.start("worker", "--metrics-address", address)
    with httpx.Client(base_url=f"http://{address}", timeout=PATIENCE_SECONDS) as client:

        def checks() -> dict[str, str]:
            try:
                return dict(client.get("/health/ready").json()["checks"])
            except httpx.TransportError:
                return {}

        program.wait(lambda: checks().get("worker") == "ok")
        assert checks() == dict.fromkeys(("temp", "models", "worker", "queue", "storage"), "ok")
        assert client.get("/health/ready").status_code == 200
        assert client.get("/health/live").json() == {"status": "alive"}
        assert "facefusion_segments_total 0.0" in client.get("/metrics").text
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(PATIENCE_SECONDS) == 0
        with pytest.raises(httpx.ConnectError):
            client.get("/health/live")


def test_a_client_gets_the_bytes_of_a_run_also_when_the_api_is_killed(program: Program) -> None:
    expected = program.single()
    program.start("worker")
    api = program.start("serve", "--listen-port", "0")
    client = program.client()
    assert client.get("/v1/jobs", headers={"Authorization": "Bearer wrong"}).status_code == 401
    face, clip = (upload(client, path) for path in (SOURCE, TARGET))
    request = {"target": clip, "sources": [face], "step": {"trim_frame_end": FRAMES}}
    answer = client.post("/v1/jobs", json=request, headers={"Idempotency-Key": "once"})
    assert answer.status_code == 201, answer.text
    job = answer.json()["id"]
    assert client.post("/v1/jobs", json=request, headers={"Idempotency-Key": "once"}).json()["id"] == job
    assert client.delete(f"/v1/assets/{clip}").status_code == 409

    program.wait(program.held)
    api.kill()
    api.wait()
    program.start("serve", "--listen-port", "0")
    client = program.client(2)
    told = [line for line in events_of(client, job) if line.startswith("event:")]
    assert told[-1] == "event: end", told
    found = client.get(f"/v1/jobs/{job}").json()
    assert found["state"] == "completed"
    assert found["progress"]["frames_done"] == FRAMES
    assert found["report"]["frames"] == FRAMES
    assert client.get(f"/v1/jobs/{job}/result").content == expected
    part = client.get(f"/v1/jobs/{job}/result", headers={"Range": "bytes=100-199"})
    assert (part.status_code, part.content) == (206, expected[100:200])
    assert client.delete(f"/v1/jobs/{job}").status_code in (200, 204)
    assert client.get(f"/v1/jobs/{job}/result").status_code == 404
    assert client.delete(f"/v1/assets/{clip}").status_code == 204


def upload(client: httpx.Client, path: Path) -> str:
    with path.open("rb") as file:
        answer = client.post("/v1/assets", files={"file": ("../../name", file)})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def events_of(client: httpx.Client, job: str) -> list[str]:
    with client.stream("GET", f"/v1/jobs/{job}/events") as answer:
        return list(answer.iter_lines())
