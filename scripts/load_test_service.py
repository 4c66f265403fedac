"""Put a bounded load on the service as it is started here, and say how long each part of a job took.

    python scripts/load_test_service.py [--jobs 100] [--clients 8] [--workers 2] [--target FILE] [--frames 24]

It starts a Redis (``redis-server`` has to be installed), an API and so many workers, all in a folder of their own; with
``--workers 0`` an API alone, which does its jobs by itself. Each client is a thread that uploads a face and a target,
queues a job, asks for it until it is done, and fetches and erases the result; then it begins the next. Printed are the
median, what 95 of 100 took at most, and the longest, in seconds. It ends with 1 where any request or job failed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import secrets
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FACE = ROOT / "assets" / "benchmark" / "source.jpg"
CLIP = ROOT / "assets" / "benchmark" / "target-240p.mp4"
PATIENCE_SECONDS = 300.0
ASK_SECONDS = 0.2
"""Between two times that a client asks for its job."""
PARTS = ("upload", "submit", "queue", "work", "done", "result")
WORDS = {
    "upload": "two uploads, each looked into",
    "submit": "queueing the job",
    "queue": "until a worker began it",
    "work": "until that was done",
    "done": "from queueing to the end",
    "result": "fetching the result",
}


class LoadError(Exception):
    """Something did not go as it should."""


@dataclass(frozen=True)
class Job:
    """What each client asks for."""

    face: bytes
    target: bytes
    step: Mapping[str, object]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=100, help="how many in all")
    parser.add_argument("--clients", type=int, default=8, help="how many at a time")
    parser.add_argument("--workers", type=int, default=2, help="of the fleet; 0 for a service without Redis")
    parser.add_argument("--target", type=Path, default=CLIP, help="image or video to work on")
    parser.add_argument("--frames", type=int, default=24, help="of a video that are worked on")
    asked = parser.parse_args(arguments)
    job = Job(FACE.read_bytes(), asked.target.read_bytes(), {"trim_frame_end": asked.frames})
    with service(asked.workers) as (url, token), ThreadPoolExecutor(asked.clients) as clients:
        client = Client(url, token)
        client.do(job)  # models are loaded by the first
        begun = time.monotonic()
        outcomes = list(clients.map(lambda _: attempt(client, job), range(asked.jobs)))
        seconds = time.monotonic() - begun
    done = [outcome for outcome in outcomes if isinstance(outcome, dict)]
    faults = [outcome for outcome in outcomes if isinstance(outcome, str)]
    print(table(done))
    print(
        f"\n{asked.jobs} jobs, {asked.clients} clients, {asked.workers} workers: {seconds:.0f} s, errors: {len(faults)}"
    )
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


def attempt(client: Client, job: Job) -> dict[str, float] | str:
    """The seconds of each part of one job, or what went wrong."""
    try:
        return client.do(job)
    except (OSError, LoadError) as error:
        return f"{type(error).__name__}: {error}"


class Client:
    """Asks the service, over connections of its own."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url
        self._headers = {"Authorization": f"Bearer {token}"}

    def do(self, job: Job) -> dict[str, float]:
        """One job from upload to erasure; the seconds of each part.

        Raises:
            LoadError: the job failed, or its result is not what was said of it.
            OSError: a request failed.
        """
        seconds: dict[str, float] = {}
        with timed(seconds, "upload"):
            face, target = (self._call("POST", "/v1/assets", data)["id"] for data in (job.face, job.target))
        asked = json.dumps({"target": target, "sources": [face], "step": job.step}).encode()
        with timed(seconds, "submit"):
            name = self._call("POST", "/v1/jobs", asked, "application/json")["id"]
        found = self._await(name)
        if found["state"] != "completed":
            raise LoadError(f"job {name} is {found['state']}: {found['fault']}")
        seconds["queue"] = found["started"] - found["created"]
        seconds["work"] = found["ended"] - found["started"]
        seconds["done"] = found["ended"] - found["created"]
        with timed(seconds, "result"):
            result = self._fetch("GET", f"/v1/jobs/{name}/result")
        if len(result) != found["result"]["size"]:
            raise LoadError(f"job {name}: {len(result)} bytes came of {found['result']['size']}")
        for path in (f"jobs/{name}", f"assets/{face}", f"assets/{target}"):
            self._fetch("DELETE", f"/v1/{path}")
        return seconds

    def _await(self, name: str) -> dict[str, Any]:
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            found = self._call("GET", f"/v1/jobs/{name}")
            if found["state"] not in ("queued", "running"):
                return found
            time.sleep(ASK_SECONDS)
        raise LoadError(f"job {name} did not come to its end")

    def _call(self, method: str, path: str, data: bytes | None = None, kind: str = "") -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self._fetch(method, path, data, kind))
        return answer

    def _fetch(self, method: str, path: str, data: bytes | None = None, kind: str = "") -> bytes:
        headers = self._headers | {"Content-Type": kind or "application/octet-stream"}
        request = urllib.request.Request(f"{self._url}{path}", data, headers, method=method)
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
            body: bytes = answer.read()
        return body


@contextmanager
def timed(seconds: dict[str, float], part: str) -> Iterator[None]:
    """Note how long something took."""
    begun = time.monotonic()
    yield
    seconds[part] = time.monotonic() - begun


@contextmanager
def service(workers: int) -> Iterator[tuple[str, str]]:
    """The service, until the end; its address and a token.

    Raises:
        LoadError: it does not begin to answer.
    """
    token = secrets.token_urlsafe(32)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        environment = {
            **os.environ,
            "API_TOKEN": token,
            "FACEFUSION_REQUESTS_PER_MINUTE": "0",
            "FACEFUSION_STORAGE_PATH": str(folder / "storage"),
            "FACEFUSION_TEMP_PATH": str(folder / "temp"),
        }
        (folder / "temp").mkdir()
        start = Starter(folder, environment, stack)
        if workers:
            environment["REDIS_URL"] = start.redis()
        log = start("serve", "--listen-port", "0", "--listen-host", "127.0.0.1")
        for _ in range(workers):
            start("worker")
        yield until(lambda: re.search(r"Serving the API on (\S+);", log.read_text()), log)[1], token


class Starter:
    """Starts the program's processes, which end with a stack."""

    def __init__(self, folder: Path, environment: Mapping[str, str], stack: ExitStack) -> None:
        self._folder = folder
        self._environment = environment
        self._stack = stack
        self._count = 0

    def __call__(self, *words: str) -> Path:
        """Start one with the words of a command line; the file of what it says."""
        return self._begin([sys.executable, str(ROOT / "facefusion.py"), *words])

    def redis(self) -> str:
        """Start one; its address.

        Raises:
            LoadError: there is none to start.
        """
        program = shutil.which("redis-server")
        if program is None:
            raise LoadError("there is no redis-server: install it, or choose --workers 0")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = str(probe.getsockname()[1])
        words = ["--bind", "127.0.0.1", "--dir", str(self._folder), "--appendonly", "yes", "--save", ""]
        log = self._begin([program, "--port", port, *words])
        until(lambda: re.search("Ready to accept connections", log.read_text()), log)
        return f"redis://127.0.0.1:{port}/0"

    def _begin(self, words: Sequence[str]) -> Path:
        self._count += 1
        log = self._folder / f"{self._count}.log"
        with log.open("wb") as file:
            process = subprocess.Popen(words, cwd=ROOT, env=self._environment, stdout=file, stderr=file)
        self._stack.callback(_end, process)
        return log


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def until(look: Callable[[], re.Match[str] | None], log: Path) -> re.Match[str]:
    """What is found once something was said.

    Raises:
        LoadError: it was not.
    """
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        if (found := look()) is not None:
            return found
        time.sleep(0.05)
    raise LoadError(f"it does not begin:\n{log.read_text()}")


def table(done: Sequence[Mapping[str, float]]) -> str:
    """The seconds of all jobs, as Markdown."""
    lines = ["| seconds | median | 95 % | most |", "|---|---|---|---|"]
    for part in PARTS if done else ():
        seconds = sorted(one[part] for one in done)
        high = seconds[min(len(seconds) - 1, -(-95 * len(seconds) // 100) - 1)]
        lines.append(f"| {WORDS[part]} | {statistics.median(seconds):.3f} | {high:.3f} | {seconds[-1]:.3f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
