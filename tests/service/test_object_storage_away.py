"""A fleet whose storage stays away: jobs fail with a clear error, workers go on. Only the engine is a stub."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from facefusion.service.bucket import open_bucket
from facefusion.service.celery_messages import open_queue
from facefusion.service.object_store import ObjectStore
from facefusion.service.records import Asset, JobRecord, JobState
from tests.service.jobs import job
from tests.service.s3_server import BUCKET, S3Server

pytestmark = pytest.mark.service

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 60.0


def waited(holds: Callable[[], JobRecord | None], log: Path) -> JobRecord:
    end = time.monotonic() + PATIENCE_SECONDS
    while (found := holds()) is None:
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.05)
    return found


def test_a_storage_that_stays_away_fails_the_job_and_the_worker_goes_on(redis_url: str, tmp_path: Path) -> None:
    (tmp_path / "s3").mkdir()
    (tmp_path / "diary").mkdir()
    server = S3Server(tmp_path / "s3")
    address = f"s3://{BUCKET}/away"
    store = ObjectStore(open_bucket(address, server.variables, 5.0))
    for asset_id in ("asset1", job(1).target, job(2).target):
        part = tmp_path / "part"
        part.write_bytes(b"clip")
        digest = sha256(b"clip").hexdigest()
        store.add(part, Asset(asset_id, "ann", digest, 4, "video/mp4", ".mp4", created=1.0, expires=2e9))
    queue = open_queue(redis_url)
    log = tmp_path / "worker.log"
    words = [sys.executable, "-m", "tests.service.stub_worker", redis_url, str(tmp_path), "breed", address]

    def final(job_id: str) -> JobRecord | None:
        found = queue.find(job_id)
        return found if found is not None and found.state.is_final else None

    with log.open("wb") as file:
        worker = subprocess.Popen(words, cwd=ROOT, env={**os.environ, **server.variables}, stdout=file, stderr=file)
    try:
        while queue.workers() == 0:
            time.sleep(0.05)
        server.go_away()
        queue.submit(job(1), idempotency_key=None, most_waiting=10)
        failed = waited(lambda: final("job1"), log)
        assert failed.state is JobState.FAILED
        assert failed.fault is not None
        assert (failed.fault.fault, failed.fault.remedy) == (
            "the storage of the service cannot be used",
            "Try again later.",
        )
        assert failed.retries == 2
        server.come_back()
        queue.submit(job(2), idempotency_key=None, most_waiting=10)
        done = waited(lambda: final("job2"), log)
        assert done.state is JobState.COMPLETED, log.read_text()
        assert done.result is not None
        result = store.open_result("job2", done.result)
        assert b"".join(result.read(0, result.size)) == b"job2 segment 0 of clip\n"
        assert worker.poll() is None
    finally:
        worker.kill()
        worker.wait()
        server.end()
