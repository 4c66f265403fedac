from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from facefusion.core.errors import OutputError, ResourceError
from facefusion.media import output
from facefusion.media.output import FOREIGN_AGE, move_into_place, part_path


def left_by(pid: int, run: str = "0" * 8, host: str | None = None) -> str:
    return f".facefusion-{host or output._host()}-{pid}-{run}-0.part"


@pytest.fixture
def dead():
    """Number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_two_writers_of_one_output_do_not_meet(tmp_path):
    first, second = part_path(tmp_path / "a.mp4"), part_path(tmp_path / "a.mp4")
    first.write_bytes(b"first")
    second.write_bytes(b"second")
    move_into_place(first, tmp_path / "a.mp4")
    assert (tmp_path / "a.mp4").read_bytes() == b"first"
    move_into_place(second, tmp_path / "a.mp4")
    assert (tmp_path / "a.mp4").read_bytes() == b"second"
    assert [path.name for path in tmp_path.iterdir()] == ["a.mp4"]


def test_a_part_that_is_being_written_stays(tmp_path):
    mine = part_path(tmp_path / "a.mp4")
    mine.write_bytes(b"")
    other = tmp_path / left_by(os.getppid())
    other.write_bytes(b"")
    part_path(tmp_path / "a.mp4")
    assert sorted(tmp_path.iterdir()) == sorted([mine, other])


def test_what_a_killed_run_left_goes(tmp_path, dead):
    (tmp_path / left_by(dead)).write_bytes(b"")
    (tmp_path / left_by(os.getpid(), run="f" * 8)).write_bytes(b"")
    (tmp_path / f"{left_by(dead)}.edited.part").write_bytes(b"")
    (tmp_path / ".facefusion-notes.part").write_bytes(b"")
    part_path(tmp_path / "a.mp4")
    assert [path.name for path in tmp_path.iterdir()] == [".facefusion-notes.part"]


def test_what_was_left_is_told_and_that_a_folder_cannot_be_read(tmp_path, dead):
    (tmp_path / left_by(dead)).write_bytes(b"12345")
    assert output.abandoned(tmp_path) == [tmp_path / left_by(dead)]
    with pytest.raises(NotADirectoryError):
        output.abandoned(tmp_path / left_by(dead))


def test_a_full_disk_is_named_and_what_was_there_stays(tmp_path, monkeypatch):
    def full(path):
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "a.mp4"
    path.write_bytes(b"old")
    part = part_path(path)
    part.write_bytes(b"new")
    monkeypatch.setattr(output, "flush", full)
    with pytest.raises(ResourceError, match=r"a\.mp4 cannot be written: the disk is full\. Free some space\. Choose"):
        move_into_place(part, path)
    assert path.read_bytes() == b"old"


def test_another_machines_part_stays_for_a_day(tmp_path, dead):
    foreign = [tmp_path / left_by(number, host="0123abcd") for number in (dead, dead + 1)]
    for path, age in zip(foreign, (FOREIGN_AGE - 60, FOREIGN_AGE + 60), strict=True):
        path.write_bytes(b"")
        os.utime(path, (time.time() - age,) * 2)
    part_path(tmp_path / "a.mp4")
    assert list(tmp_path.iterdir()) == foreign[:1]


def test_a_name_as_long_as_names_may_be_can_be_written(tmp_path):
    path = tmp_path / ("x" * 251 + ".mp4")
    part = part_path(path)
    part.write_bytes(b"result")
    move_into_place(part, path)
    assert path.read_bytes() == b"result"


def test_a_name_longer_than_that_is_refused(tmp_path):
    with pytest.raises(OutputError, match=r"xx\.mp4 cannot be written: the name is too long\. Choose another"):
        part_path(tmp_path / ("x" * 252 + ".mp4"))


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="needs symbolic links")
def test_a_link_is_written_through(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "old.mp4").write_bytes(b"old")
    link = tmp_path / "link.mp4"
    link.symlink_to(Path("elsewhere") / "old.mp4")
    part = part_path(link)
    assert part.parent == tmp_path / "elsewhere"
    part.write_bytes(b"new")
    move_into_place(part, link)
    assert link.is_symlink()
    assert (tmp_path / "elsewhere" / "old.mp4").read_bytes() == b"new"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_what_is_no_file_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe.mp4")
    with pytest.raises(OutputError, match=re.escape("pipe.mp4 is there and is no regular file. Choose another")):
        part_path(tmp_path / "pipe.mp4")
