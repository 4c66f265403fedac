"""API, workers with the real engine, and an S3 server where others have a folder. Results have the bytes of ``run``."""

from __future__ import annotations

import signal
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from facefusion.service.bucket import Bucket, open_bucket
from tests.app.conftest import SOURCE, TARGET
from tests.service.s3_server import BUCKET, S3Server
from tests.service.test_whole_service import FRAMES, PATIENCE_SECONDS, Program, events_of, upload

pytestmark = pytest.mark.service


@pytest.fixture
def server(tmp_path: Path) -> Iterator[S3Server]:
    folder = tmp_path / "s3"
    folder.mkdir()
    server = S3Server(folder)
    yield server
    server.end()


@pytest.fixture
def address() -> str:
    return f"s3://{BUCKET}/{uuid.uuid4().hex}"


@pytest.fixture
def bucket(server: S3Server, address: str) -> Bucket:
    return open_bucket(address, server.variables, 5.0)


@pytest.fixture
def program(
    tmp_path: Path, redis_url: str, model_path: Callable[[str], Path], server: S3Server, address: str
) -> Iterator[Program]:
    variables = {**server.variables, "FACEFUSION_STORAGE_URL": address, "FACEFUSION_STORAGE_PATH": "own"}
    folder = tmp_path / "program"
    folder.mkdir()
    program = Program(folder, redis_url, model_path("yunet").parent, variables)
    yield program
    program.end()


def ordered(client: httpx.Client) -> tuple[str, str]:
    """A job, and its target."""
    face, clip = (upload(client, path) for path in (SOURCE, TARGET))
    answer = client.post("/v1/jobs", json={"target": clip, "sources": [face], "step": {"trim_frame_end": FRAMES}})
    assert answer.status_code == 201, answer.text
    return answer.json()["id"], clip


def keys(bucket: Bucket, prefix: str = "") -> list[str]:
    return [each.key for each in bucket.walk(prefix)]


def test_a_fleet_without_a_folder_makes_the_bytes_of_a_run_also_when_a_worker_is_killed(
    program: Program, bucket: Bucket
) -> None:
    expected = program.single()
    fleet = [program.start("worker") for _ in range(2)]
    program.start("serve", "--listen-port", "0")
    client = program.client()
    job, clip = ordered(client)
    program.wait(lambda: len(program.held()) == 2)
    fleet[0].send_signal(signal.SIGKILL)
    events_of(client, job)
    found = client.get(f"/v1/jobs/{job}").json()
    assert found["state"] == "completed", f"{found}\n{program.log()}"

    whole = client.get(f"/v1/jobs/{job}/result")
    assert whole.content == expected
    assert (whole.headers["content-length"], whole.headers["accept-ranges"]) == (str(len(expected)), "bytes")
    etag = whole.headers["etag"]
    for asked, status, content in (
        ("bytes=100-199", 206, expected[100:200]),
        ("bytes=-7", 206, expected[-7:]),
        (f"bytes={len(expected) - 3}-", 206, expected[-3:]),
        ("bytes=5-2", 200, expected),
        ("bytes=0-1,3-4", 200, expected),
        ("lines=1-2", 200, expected),
    ):
        part = client.get(f"/v1/jobs/{job}/result", headers={"Range": asked, "If-Range": etag})
        assert (part.status_code, part.content) == (status, content), asked
    beyond = client.get(f"/v1/jobs/{job}/result", headers={"Range": f"bytes={len(expected)}-"})
    assert (beyond.status_code, beyond.headers["content-range"]) == (416, f"bytes */{len(expected)}")
    other = client.get(f"/v1/jobs/{job}/result", headers={"Range": "bytes=0-1", "If-Range": '"another"'})
    assert (other.status_code, other.content) == (200, expected)

    fleet[1].send_signal(signal.SIGTERM)
    assert fleet[1].wait(PATIENCE_SECONDS) == 0, program.log()
    assert keys(bucket, "segments") == []
    assert client.delete(f"/v1/jobs/{job}").status_code == 204
    assert client.delete(f"/v1/assets/{clip}").status_code == 204
    assert len(keys(bucket)) == 2, "the face"
    secret = "a secret of the storage"
    assert secret not in program.log()
    assert [path for path in (program.folder / "own").rglob("*") if path.suffix in (".mp4", ".mkv", ".jpg")] == []


def test_a_storage_that_is_away_for_a_while_is_waited_for(program: Program, server: S3Server, bucket: Bucket) -> None:
    expected = program.single()
    program.start("worker")
    program.start("serve", "--listen-port", "0")
    client = program.client()
    job, _ = ordered(client)
    program.wait(program.held)
    server.go_away()
    refused = client.post("/v1/assets", files={"file": ("x", SOURCE.read_bytes())})
    assert (refused.status_code, refused.json()["type"].rpartition(":")[2]) == (503, "service-unavailable"), (
        refused.text
    )
    assert server.url not in refused.text
    ready = client.get("/health/ready")
    assert (ready.status_code, "storage" in ready.text) == (503, True)
    server.come_back()
    events_of(client, job)
    found = client.get(f"/v1/jobs/{job}").json()
    assert found["state"] == "completed", f"{found}\n{program.log()}"
    assert found["retries"] == 0
    assert client.get(f"/v1/jobs/{job}/result").content == expected


def test_one_process_keeps_its_files_in_a_bucket_too(
    tmp_path: Path, model_path: Callable[[str], Path], server: S3Server, address: str, bucket: Bucket, redis_url: str
) -> None:
    variables = {**server.variables, "FACEFUSION_STORAGE_URL": address, "FACEFUSION_STORAGE_PATH": "own"}
    folder = tmp_path / "local"
    folder.mkdir()
    program = Program(folder, redis_url, model_path("yunet").parent, {**variables, "REDIS_URL": ""})
    try:
        program.start("serve", "--listen-port", "0")
        client = program.client()
        face = upload(client, SOURCE)
        job = client.post("/v1/jobs", json={"target": face, "sources": [face]}).json()["id"]
        events_of(client, job)
        found = client.get(f"/v1/jobs/{job}").json()
        assert found["state"] == "completed", f"{found}\n{program.log()}"
        assert client.get(f"/v1/jobs/{job}/result").content[:3] == b"\xff\xd8\xff"
        assert {key.split("/")[0] for key in keys(bucket)} == {"assets", "results"}
    finally:
        program.end()
