"""A redis-server of a test's own: on a free port, in a folder of its own, with every write kept."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from pathlib import Path

PATIENCE_SECONDS = 20.0


class RedisServer:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        program = shutil.which("redis-server")
        assert program, "install Debian's redis-server"
        words = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self._folder)]
        words += ["--appendonly", "yes", "--appendfsync", "always", "--save", "", "--loglevel", "warning"]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen([program, *words], stdout=log, stderr=log)
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                assert self.call("PING") == "+PONG"
                return
            except (OSError, AssertionError):
                assert time.monotonic() < end, "redis-server does not answer"
                time.sleep(0.05)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def call(self, *words: str) -> str:
        """Run a command whose answer is one line, without the client library."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as connection:
            parts = "".join(f"${len(word.encode())}\r\n{word}\r\n" for word in words)
            connection.sendall(f"*{len(words)}\r\n{parts}".encode())
            return connection.makefile("rb").readline().decode().strip()
