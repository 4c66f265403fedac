"""The log file: whole lines, from several processes, over several files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import filelock
import pytest

from facefusion.core.errors import OutputError, UsageError
from facefusion.observability.log_file import LogFile
from facefusion.observability.records import LEVELS, JsonFormatter, StampedFormatter, spoken_record

ROOT = Path(__file__).parents[2]
WRITER = """
import sys
from pathlib import Path
from facefusion.observability.log_file import LogFile
from facefusion.observability.records import StampedFormatter, spoken_record
name, count = sys.argv[2], int(sys.argv[3])
log = LogFile(Path(sys.argv[1]), sys.stderr.write, largest=4000, kept=50)
log.setFormatter(StampedFormatter())
for number in range(count):
    log.handle(spoken_record(f"{name} {number} " + "x" * 40))
"""


@pytest.fixture
def losses():
    return []


@pytest.fixture
def log(tmp_path, losses):
    log = LogFile(tmp_path / "run.log", losses.append, largest=200, kept=2)
    log.setFormatter(StampedFormatter())
    return log


def files_of(folder):
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".lock"))


def test_records_are_added_to_what_is_there(tmp_path, losses):
    log = LogFile(tmp_path / "run.log", losses.append)
    log.setFormatter(StampedFormatter())
    before = JsonFormatter().format(spoken_record("before")).encode()
    (tmp_path / "run.log").write_bytes(before + b"\n")
    log.handle(spoken_record("one"))
    log.handle(spoken_record("ö\udcff"))
    first, *more = (tmp_path / "run.log").read_bytes().splitlines()
    assert first == before
    assert [line.partition(b": ")[2] for line in more] == [b"one", b"\xc3\xb6\xff"]


@pytest.mark.parametrize("form", [StampedFormatter, JsonFormatter])
@pytest.mark.parametrize("level", LEVELS)
def test_a_log_is_known_again(tmp_path, losses, form, level):
    path = tmp_path / "run.log"
    for _ in range(2):
        log = LogFile(path, losses.append)
        log.setFormatter(form())
        log.handle(spoken_record("", level))
    assert len(path.read_text(encoding="utf-8").splitlines()) == 2
    assert losses == []


@pytest.mark.parametrize("content", [b"\xff\xd8\xff\xe0", b"before\n", b'{"version": "1"}', b"2026-11-30 text\n"])
@pytest.mark.parametrize("name", ["run.log", "run.log.2"])
def test_what_is_no_log_is_neither_written_nor_renamed(tmp_path, losses, content, name):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError) as refused:
        LogFile(tmp_path / "run.log", losses.append, kept=2)
    assert str(refused.value) == (
        f"{tmp_path / name} is there already and is not a log of this program. It stays as it is. "
        "Name another file with --log-path."
    )
    assert (tmp_path / name).read_bytes() == content
    assert files_of(tmp_path) == [name]


def test_what_takes_the_place_of_the_log_is_left_alone(tmp_path, log, losses):
    log.handle(spoken_record("one"))
    (tmp_path / "run.log").write_bytes(b"a picture" * 100)
    for _ in range(2):
        log.handle(spoken_record("two"))
    assert (tmp_path / "run.log").read_bytes() == b"a picture" * 100
    assert files_of(tmp_path) == ["run.log"]
    assert losses == [f"the log {tmp_path / 'run.log'} takes no more; what follows is not in it."]


def test_what_has_the_name_of_an_old_log_is_left_alone(tmp_path, log, losses):
    (tmp_path / "run.log.2").write_bytes(b"a picture")
    for _ in range(12):
        log.handle(spoken_record("x" * 40))
    assert (tmp_path / "run.log.2").read_bytes() == b"a picture"
    assert files_of(tmp_path) == ["run.log", "run.log.2"]
    assert len(losses) == 1


def test_a_full_log_that_another_process_holds_never_stops_the_work(tmp_path, log, losses, monkeypatch):
    (tmp_path / "run.log").unlink()
    (tmp_path / "run.log").mkdir()
    monkeypatch.setattr(log, "_between", filelock.FileLock(tmp_path / "run.log.lock", timeout=0))
    with filelock.FileLock(tmp_path / "run.log.lock"):
        log.handle(spoken_record("one"))
    assert len(losses) == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_refused_at_once(tmp_path, losses):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="pipe is no regular file"):
        LogFile(tmp_path / "pipe", losses.append)


def test_a_full_file_is_put_aside_and_old_ones_go(tmp_path, log, losses):
    for number in range(12):
        log.handle(spoken_record(f"record {number:2} {'x' * 20}"))
    assert files_of(tmp_path) == ["run.log", "run.log.1", "run.log.2"]
    sizes = [(tmp_path / name).stat().st_size for name in files_of(tmp_path)]
    assert max(sizes) <= 200
    assert "record 11" in (tmp_path / "run.log").read_text(encoding="utf-8")
    assert losses == []


def test_many_processes_lose_nothing_and_tear_nothing_apart(tmp_path):
    path = tmp_path / "run.log"
    call = [sys.executable, "-c", WRITER, str(path)]
    writers = [
        subprocess.Popen([*call, f"writer{number}", "60"], cwd=ROOT, stderr=subprocess.PIPE, text=True)
        for number in range(4)
    ]
    assert [writer.communicate()[1] for writer in writers] == [""] * 4
    records = [line for name in files_of(tmp_path) for line in (tmp_path / name).read_text().splitlines()]
    lines = [record.partition(": ")[2] for record in records]
    assert sorted(lines) == sorted(f"writer{who} {number} {'x' * 40}" for who in range(4) for number in range(60))
    assert all((tmp_path / name).stat().st_size <= 4000 for name in files_of(tmp_path))


def test_a_file_that_cannot_be_written_is_an_error_at_once(tmp_path, losses):
    path = tmp_path / "none" / "run.log"
    with pytest.raises(OutputError) as refused:
        LogFile(path, losses.append)
    assert str(refused.value) == (
        f"{path} cannot be written: the folder is not there. Name another file with --log-path."
    )
    with pytest.raises(OutputError, match="cannot be written: Is a directory"):
        LogFile(tmp_path, losses.append)


def test_a_disk_that_takes_no_more_is_said_once_and_stops_nothing(tmp_path, log, losses):
    (tmp_path / "run.log").unlink()
    (tmp_path / "run.log").mkdir()
    log.handle(spoken_record("one"))
    log.handle(spoken_record("two"))
    assert losses == [f"the log {tmp_path / 'run.log'} takes no more; what follows is not in it."]


@pytest.mark.skipif(sys.platform == "win32", reason="descriptors of POSIX")
def test_no_descriptor_stays_open(log):
    before = len(os.listdir("/dev/fd"))  # noqa: PTH208 - a folder of the system's own
    for _ in range(20):
        log.handle(spoken_record("one"))
    assert len(os.listdir("/dev/fd")) == before  # noqa: PTH208
