"""An S3 server of a test's own, in a process of its own: ``python -m tests.service.s3_server PORT FLAG``.

What it keeps goes with it. While the file FLAG is there, it answers 503 to everybody, as a storage does that is away;
while :meth:`S3Server.stand_still` lasts, it takes connections and says nothing.
"""

from __future__ import annotations

import contextlib
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
BUCKET = "a-bucket"
COLOUR = re.compile("\x1b\\[[0-9;]*m")
PATIENCE_SECONDS = 60.0
VARIABLES = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "a secret of the storage", "AWS_REGION": "us-east-1"}


class S3Server:
    """Begins with one bucket, with nothing in it."""

    def __init__(self, folder: Path) -> None:
        self._flag = folder / "away"
        self._log = folder / "s3.log"
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        words = [sys.executable, "-m", "tests.service.s3_server", str(port), str(self._flag)]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(words, cwd=ROOT, stdout=log, stderr=log)
        self._wait()
        self.make_bucket(BUCKET)

    @property
    def variables(self) -> dict[str, str]:
        """What programs find it by."""
        return {**VARIABLES, "AWS_ENDPOINT_URL": self.url}

    @property
    def requests(self) -> list[str]:
        """What it was asked, each with its method and path."""
        lines = COLOUR.sub("", self._log.read_text()).splitlines()
        return [line.split('"')[1] for line in lines if line.count('"') >= 2]

    def make_bucket(self, name: str) -> None:
        request = urllib.request.Request(f"{self.url}/{name}", method="PUT")
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS):
            pass

    def go_away(self) -> None:
        self._flag.touch()

    def come_back(self) -> None:
        self._flag.unlink()

    @contextlib.contextmanager
    def stand_still(self) -> Iterator[None]:
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.go_on()

    def go_on(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()

    def _wait(self) -> None:
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                with urllib.request.urlopen(self.url, timeout=5):
                    return
            except OSError as error:
                if isinstance(error, urllib.error.HTTPError):
                    return
                assert time.monotonic() < end and self._process.poll() is None, (
                    f"the S3 server does not answer: {self._log.read_text()}"
                )
                time.sleep(0.1)


def main(port: int, flag: Path) -> None:
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import run_simple

    application = DomainDispatcherApplication(create_backend_app)

    def answer(environment: Any, start: Any) -> Iterable[bytes]:
        if flag.exists():
            start("503 Service Unavailable", [("Content-Length", "0")])
            return []
        return application(environment, start)

    run_simple("127.0.0.1", port, answer, threaded=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
