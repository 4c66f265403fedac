"""The fleet's Redis as docker-compose.yml starts it."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.files import compose, text

pytestmark = pytest.mark.service

PASSWORD = "a-long-word"


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    assert shutil.which("redis-server"), "redis-server is missing: apt-get install redis-server"
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        free: int = listener.getsockname()[1]
    settings = text("deploy/redis/redis.conf")
    assert "dir /data\n" in settings
    here = settings.replace("dir /data\n", f"dir {tmp_path}\n")
    # What comes later wins.
    (tmp_path / "here.conf").write_text(f"{here}\nport {free}\nbind 127.0.0.1\nlogfile {tmp_path}/log\n")
    command = compose()["services"]["redis"]["command"][-1].replace("$$", "$")
    command = command.replace("/etc/redis.conf", str(tmp_path / "here.conf"))
    process = subprocess.Popen(["sh", "-c", command], env={"PATH": "/usr/bin:/bin", "REDIS_PASSWORD": PASSWORD})
    try:
        for _ in range(200):
            if "PONG" in ask(free, "ping"):
                break
            time.sleep(0.05)
        yield free
    finally:
        process.terminate()
        process.wait(20)


def ask(port: int, *words: str, password: str = PASSWORD) -> str:
    command = ["redis-cli", "-h", "127.0.0.1", "-p", str(port), *words]
    done = subprocess.run(
        command, env={"REDISCLI_AUTH": password, "PATH": "/usr/bin:/bin"}, text=True, capture_output=True, check=False
    )
    return done.stdout


def test_it_lets_nobody_in_without_the_password(port):
    assert ask(port, "ping") == "PONG\n"
    assert "NOAUTH" in ask(port, "get", "a", password="")
    assert "NOAUTH" in ask(port, "get", "a", password="wrong")


def test_it_writes_down_what_it_is_told_and_throws_nothing_away(port, tmp_path):
    assert ask(port, "set", "a", "1") == "OK\n"
    assert "yes" in ask(port, "config", "get", "appendonly")
    assert "noeviction" in ask(port, "config", "get", "maxmemory-policy")
    assert str(1 << 30) in ask(port, "config", "get", "maxmemory")
    assert list((tmp_path / "appendonlydir").iterdir())
