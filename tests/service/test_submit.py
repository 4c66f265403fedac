"""The command that sends files to the fleet, with nobody or a thread in place of the workers."""

from __future__ import annotations

import hashlib
import shutil
import threading
import time
from pathlib import Path

import pytest

from facefusion.cli.main import main
from facefusion.service.files import FolderStore
from facefusion.service.leases import JOIN, PLAN, Leases, Unit
from facefusion.service.records import Fault, JobState, Priority, Result
from facefusion.service.redis_link import RedisLink
from facefusion.service.redis_queue import RedisQueue
from tests.app.conftest import SOURCE, TARGET

pytestmark = pytest.mark.service

PATTERNS = ("-s", "faces/*.jpg", "-t", "clips/*", "-o", "out/{target_name}{target_extension}")


@pytest.fixture
def folder(tmp_path, monkeypatch, redis_url):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REDIS_URL", redis_url)
    monkeypatch.setenv("FACEFUSION_STORAGE_PATH", "storage")
    for name in ("faces", "clips", "out"):
        (tmp_path / name).mkdir()
    shutil.copy(SOURCE, tmp_path / "faces/face.jpg")
    shutil.copy(TARGET, tmp_path / "clips/one.mp4")
    shutil.copy(TARGET, tmp_path / "clips/two.mp4")
    return tmp_path


@pytest.fixture
def queue(redis_url):
    link = RedisLink(redis_url)
    yield RedisQueue(link)
    link.close()


def finish(queue: RedisQueue, redis_url: str, spoil: str = "") -> None:
    """Do all jobs that come, as a worker would; the content is the job's target. One whose target is spoilt fails."""
    link = RedisLink(redis_url)
    files, leases = FolderStore(Path("storage")), Leases(link, "worker")
    left = 2
    while left:
        for job in queue.list(None, limit=9, before=None):
            if job.state is not JobState.QUEUED:
                continue
            left -= 1
            lease = leases.acquire(Unit(job.id, PLAN))
            assert lease is not None
            target = files.fetch(job.target, Path("out")).read_bytes()
            if hashlib.sha256(target).hexdigest() == spoil:
                leases.fail(lease, JobState.REJECTED, Fault("the target is refused", "Choose another one.", "X"))
                continue
            leases.commit_plan(lease, {}, [1], "breed")
            segment = leases.acquire(Unit(job.id, "0"))
            assert segment is not None
            leases.commit_segment(segment, {})
            made = Path("made.mp4")
            made.write_bytes(b"result of " + job.id.encode())
            digest = hashlib.sha256(made.read_bytes()).hexdigest()
            result = Result(digest, made.stat().st_size, "video/mp4", ".mp4", time.time() + 60)
            files.put_result(job.id, made, result)
            join = leases.acquire(Unit(job.id, JOIN))
            assert join is not None
            leases.complete(join, result, {})
        time.sleep(0.05)
    link.close()


def test_jobs_are_sent_and_named(folder, queue, capsys):
    assert main(["submit", *PATTERNS, "--priority", "high", "--output-video-quality", "70"]) == 0
    told = capsys.readouterr()
    jobs = {job.id: job for job in queue.list("operator", limit=9, before=None)}
    assert sorted(told.out.split()) == sorted(jobs)
    assert "Sent 2 jobs to the fleet." in told.err
    for job in jobs.values():
        assert (job.priority, job.extension, job.state) == (Priority.HIGH, ".mp4", JobState.QUEUED)
        assert job.step["output_video_quality"] == 70
        assert not any("path" in name for name in job.step)
    (one,) = {job.sources for job in jobs.values()}
    assert FolderStore(folder / "storage").fetch(one[0], folder).read_bytes() == SOURCE.read_bytes()


def test_formats_that_come_unsigned_are_named(folder, queue, capsys):
    words = ["submit", "-s", "faces/*.jpg", "-t", "clips/*"]
    full, alone = ("--marking", "full"), ("--marking", "metadata")
    assert main([*words, "-o", "out/{target_name}.mkv", *full]) == 0
    said = "Results in .mkv are not signed, since the fleet hands out one file, and their manifest would be another."
    assert f"warning: {said}" in capsys.readouterr().err.splitlines()
    assert main([*words, "-o", "out/{target_name}.mkv", *alone]) == 0
    assert main([*words, "-o", "out/{target_name}.mp4", *full]) == 0
    assert "signed" not in capsys.readouterr().err


def test_results_are_waited_for_and_put_where_they_were_ordered(folder, queue, redis_url, capsys):
    fleet = threading.Thread(target=finish, args=(queue, redis_url))
    fleet.start()
    assert main(["submit", *PATTERNS, "--wait"]) == 0
    fleet.join()
    ids = {job.id.encode() for job in queue.list(None, limit=9, before=None)}
    assert {(folder / "out" / name).read_bytes() for name in ("one.mp4", "two.mp4")} == {
        b"result of " + job for job in ids
    }
    assert sorted(capsys.readouterr().out.split()) == ["out/one.mp4", "out/two.mp4"]
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["one.mp4", "two.mp4"]


def test_one_that_is_not_made_does_not_keep_the_others(folder, queue, redis_url, capsys):
    with (folder / "clips/two.mp4").open("ab") as clip:
        clip.write(b"\0\0\0\x08free")
    spoil = hashlib.sha256((folder / "clips/two.mp4").read_bytes()).hexdigest()
    fleet = threading.Thread(target=finish, args=(queue, redis_url, spoil))
    fleet.start()
    assert main(["submit", *PATTERNS, "--wait"]) == 3
    fleet.join()
    told = capsys.readouterr()
    assert told.out == "out/one.mp4\n"
    assert "out/two.mp4: the target is refused. Choose another one." in told.err


def test_a_file_that_cannot_be_used_does_not_keep_the_others(folder, queue, capsys):
    (folder / "clips/two.mp4").write_text("no clip")
    assert main(["submit", *PATTERNS]) == 1
    told = capsys.readouterr()
    assert len(told.out.split()) == len(queue.list(None, limit=9, before=None)) == 1
    assert "clips/two.mp4 with faces/face.jpg: " in told.err


def test_a_queue_that_is_away_is_told(folder, monkeypatch, capsys):
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    assert main(["submit", *PATTERNS]) == 2
    assert "Redis cannot be used" in capsys.readouterr().err
