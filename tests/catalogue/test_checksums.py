"""Checksums that are remembered from process to process."""

from __future__ import annotations

import json
import os
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from facefusion.catalogue import checksums
from facefusion.catalogue.checksums import LEAST_BYTES, SETTLED_SECONDS, Checksums, digest_of, published_sum_of
from tests.catalogue.toys import sha256

LARGE = bytes(LEAST_BYTES)
LATER = SETTLED_SECONDS + 60.0


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Algorithm and name of each file that is read."""
    seen: list[tuple[str, str]] = []

    def counted(algorithm: str, read: Callable[[Path], str]) -> Callable[[Path], str]:
        def counting(path: Path) -> str:
            seen.append((algorithm, path.name))
            return read(path)

        return counting

    kinds = {algorithm: counted(algorithm, read) for algorithm, read in checksums.ALGORITHMS.items()}
    monkeypatch.setattr(checksums, "ALGORITHMS", kinds)
    return seen


def later(folder: Path) -> Checksums:
    """As another process would have them, some time after all files were written."""
    return Checksums(folder / "caches" / "checksums.json", clock=lambda: time.time() + LATER)


def model(folder: Path, content: bytes = LARGE, name: str = "model.onnx") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def test_a_large_file_is_read_once_for_all_processes(tmp_path, reads):
    path = model(tmp_path)
    for _ in range(2):
        known = later(tmp_path)
        for _ in range(2):
            assert known.of(path, "sha256") == sha256(LARGE)
            assert known.of(path, "crc32") == f"{zlib.crc32(LARGE):08x}"
    assert reads == [("sha256", "model.onnx"), ("crc32", "model.onnx")]


def test_a_small_file_is_read_once_for_each_process(tmp_path, reads):
    path = model(tmp_path, b"small")
    for _ in range(2):
        known = later(tmp_path)
        assert [known.of(path, "sha256"), known.of(path, "sha256")] == [sha256(b"small")] * 2
    assert len(reads) == 2
    assert not (tmp_path / "caches").exists()


@pytest.mark.parametrize("large", [b"", LARGE], ids=["small", "large"])
def test_a_change_is_seen_though_size_and_time_are_what_they_were(tmp_path, large):
    path = model(tmp_path, b"one" + large)
    known = later(tmp_path)
    assert known.of(path, "sha256") == sha256(b"one" + large)
    status = path.stat()
    time.sleep(0.02)  # longer than a tick of the file system's clock
    with path.open("r+b") as file:
        file.write(b"two")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert known.of(path, "sha256") == later(tmp_path).of(path, "sha256") == sha256(b"two" + large)


def test_another_file_in_its_place_is_another_file(tmp_path):
    path = model(tmp_path)
    known = later(tmp_path)
    known.of(path, "sha256")
    other = model(tmp_path, bytes([1]) * LEAST_BYTES, "other.onnx")
    os.utime(other, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    other.replace(path)
    assert known.of(path, "sha256") == later(tmp_path).of(path, "sha256") == sha256(bytes([1]) * LEAST_BYTES)


def test_links_lead_to_one_file(tmp_path, reads):
    path, link = model(tmp_path), tmp_path / "link.onnx"
    link.symlink_to(path)
    known = later(tmp_path)
    assert known.of(path, "sha256") == known.of(link, "sha256") == sha256(LARGE)
    assert len(reads) == 1


def test_what_was_written_a_moment_ago_is_not_remembered(tmp_path, reads):
    path = model(tmp_path)
    moment = path.stat().st_mtime
    for _ in range(2):
        Checksums(tmp_path / "checksums.json", clock=lambda: moment + 1.0).of(path, "sha256")
    assert len(reads) == 2


def test_what_was_read_too_early_is_not_remembered_later_either(tmp_path, reads):
    path, other = model(tmp_path), model(tmp_path, name="other.onnx")
    moment = path.stat().st_mtime
    times = iter([moment + 1.0])
    known = Checksums(tmp_path / "checksums.json", clock=lambda: next(times, moment + LATER))
    for one in (path, other, path):  # by the time of the second it is old, but not by that at which it was read
        known.of(one, "sha256")
    assert [name for _, name in reads] == ["model.onnx", "other.onnx"]
    rows = json.loads((tmp_path / "checksums.json").read_text())
    assert [row[1] for row in rows] == [str(other)]


def test_a_clock_that_was_put_back_costs_reading_and_no_more(tmp_path, reads):
    path = model(tmp_path)
    for _ in range(2):
        known = Checksums(tmp_path / "checksums.json", clock=lambda: 1000.0)
        assert [known.of(path, "sha256"), known.of(path, "sha256")] == [sha256(LARGE)] * 2
    assert len(reads) == 2


def test_files_that_went_are_forgotten(tmp_path):
    path, other = model(tmp_path), model(tmp_path, name="other.onnx")
    later(tmp_path).of(path, "sha256")
    path.unlink()
    later(tmp_path).of(other, "sha256")
    rows = json.loads((tmp_path / "caches" / "checksums.json").read_text())
    assert [row[:2] for row in rows] == [["sha256", str(other)]]


@pytest.mark.parametrize(
    "content", ["", "{", "5", "[[1]]", '[["sha256", "x", 1, 2, 3, null, "y"]]', "\x00", "[" * 100_000], ids=str.__len__
)
def test_a_damaged_list_counts_as_none(tmp_path, content):
    path = model(tmp_path)
    (tmp_path / "caches").mkdir()
    (tmp_path / "caches" / "checksums.json").write_text(content)
    assert later(tmp_path).of(path, "sha256") == sha256(LARGE)
    assert len(json.loads((tmp_path / "caches" / "checksums.json").read_text())) == 1


def test_where_nothing_can_be_written_all_goes_on(tmp_path):
    path = model(tmp_path)
    (tmp_path / "caches").write_bytes(b"a file")
    assert later(tmp_path).of(path, "sha256") == sha256(LARGE)


def test_threads_that_ask_together_read_once(tmp_path, reads):
    path, known = model(tmp_path), later(tmp_path)
    with ThreadPoolExecutor(4) as threads:
        found = set(threads.map(lambda _: known.of(path, "sha256"), range(16)))
    assert found == {sha256(LARGE)}
    assert len(reads) == 1


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        later(tmp_path).of(tmp_path / "gone.onnx", "sha256")


def test_the_programs_own_are_right(tmp_path):
    path = model(tmp_path, b"first")
    assert digest_of(path) == sha256(b"first")
    path.write_bytes(b"another")
    assert digest_of(path) == sha256(b"another")
    assert published_sum_of(path) == f"{zlib.crc32(b'another'):08x}"
