"""The log file: whole lines, from several processes, over several files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from facefusion.core.errors import OutputError
from facefusion.observability.log_file import LogFile
from facefusion.observability.records import StampedFormatter, spoken_record

ROOT = Path(__file__).parents[2]
WRITER = """
import sys
from pathlib import Path
from facefusion.observability.log_file import LogFile
from facefusion.observability.records import spoken_record
name, count = sys.argv[2], int(sys.argv[3])
log = LogFile(Path(sys.argv[1]), sys.stderr.write, largest=4000, kept=50)
for number in range(count):
    log.handle(spoken_record(f"{name} {number} " + "x" * 40))
"""


@pytest.fixture
def losses():
    return []


@pytest.fixture
def log(tmp_path, losses):
    return LogFile(tmp_path / "run.log", losses.append, largest=200, kept=2)


def files_of(folder):
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".lock"))


def test_records_are_added_to_what_is_there(tmp_path, log):
    (tmp_path / "run.log").write_text("before\n", encoding="utf-8")
    log.handle(spoken_record("one"))
    log.handle(spoken_record("ö\udcff"))
    assert (tmp_path / "run.log").read_bytes() == b"before\none\n\xc3\xb6\xff\n"


def test_a_full_file_is_put_aside_and_old_ones_go(tmp_path, log, losses):
    log.setFormatter(StampedFormatter())
    for number in range(12):
        log.handle(spoken_record(f"record {number:2} {'x' * 30}"))
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
    lines = [line for name in files_of(tmp_path) for line in (tmp_path / name).read_text().splitlines()]
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
