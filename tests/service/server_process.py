"""The program's own server, in a process of its own."""

from __future__ import annotations

import os
import queue
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

import httpx2

ROOT = Path(__file__).parents[2]
TOKEN = "a token of sixteen letters and more"
PATIENCE_SECONDS = 60.0


class ServerProcess:
    """Runs ``facefusion.py serve``, or another command that serves, on a port that is free."""

    def __init__(
        self,
        folder: Path,
        *words: str,
        token: str | None = TOKEN,
        variables: Mapping[str, str] | None = None,
        port: str = "0",
    ) -> None:
        about = {"PATH": os.environ["PATH"], "HOME": str(folder), **({"API_TOKEN": token} if token else {})}
        self.process = subprocess.Popen(
            [sys.executable, str(ROOT / "facefusion.py"), *(words or ("serve",)), "--listen-port", port],
            cwd=folder,
            env={**about, **(variables or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines: list[str] = []
        self._new: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        self.url = ""
        self._token = token

    def __enter__(self) -> ServerProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.end()

    def begin(self) -> ServerProcess:
        """Wait until it answers."""
        while not self.url:
            line = self._new.get(timeout=PATIENCE_SECONDS)
            if line is None:
                self.end()
                raise AssertionError("".join(self.lines))
            if found := re.match(r"Serving the API on (\S+);", line):
                self.url = found[1]
        return self

    def end(self) -> int:
        """Wait for its end; the status."""
        status = self.process.wait(PATIENCE_SECONDS)
        self._reader.join()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        return status

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Have it end; the status."""
        self.process.send_signal(number)
        return self.end()

    def client(self) -> httpx2.Client:
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        return httpx2.Client(base_url=self.url, headers=headers, timeout=PATIENCE_SECONDS)

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line)
            self._new.put(line)
        self._new.put(None)
