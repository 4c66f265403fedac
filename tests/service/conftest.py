"""What tests of the service share: a Redis of their own."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.service.redis_server import RedisServer
from tests.service.s3_server import S3Server

NEEDED = ("celery", "fastapi", "obstore", "prometheus_client", "redis")
MARK = "pytestmark = pytest.mark.service"

# Without the packages of the service its modules cannot even be imported; `make test-service` installs them.
collect_ignore: list[str] = []
if any(find_spec(name) is None for name in NEEDED):
    tests = Path(__file__).parent.glob("test_*.py")
    collect_ignore += [path.name for path in tests if MARK in path.read_text(encoding="utf-8")]


@pytest.fixture(scope="session")
def shared_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server
    server.kill()


@pytest.fixture(scope="session")
def shared_s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    server = S3Server(tmp_path_factory.mktemp("s3"))
    yield server
    server.end()


@pytest.fixture
def redis_url(shared_redis: RedisServer) -> str:
    """A Redis with nothing in it."""
    shared_redis.call("FLUSHALL")
    return shared_redis.url


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[RedisServer]:
    """One that a test may stop and start again."""
    folder = tmp_path / "redis"
    folder.mkdir()
    server = RedisServer(folder)
    server.start()
    yield server
    server.kill()
