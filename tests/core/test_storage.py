from __future__ import annotations

import errno
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from facefusion.core import storage
from facefusion.core.errors import DiskFullError, OutputError
from facefusion.core.storage import Removed, check_writable, flush, in_units, refusal, remove, write_whole


@pytest.mark.parametrize(
    ("number", "kind", "message"),
    [
        (errno.ENOSPC, DiskFullError, "a.mp4 cannot be written: the disk is full. Free some space. Go elsewhere."),
        (errno.EDQUOT, DiskFullError, "a.mp4 cannot be written: the disk is full. Free some space. Go elsewhere."),
        (errno.EROFS, OutputError, "a.mp4 cannot be written: its file system is read-only. Go elsewhere."),
        (errno.EACCES, OutputError, "a.mp4 cannot be written: you may not write there. Go elsewhere."),
        (errno.EBUSY, OutputError, f"a.mp4 cannot be written: {os.strerror(errno.EBUSY)}. Go elsewhere."),
        (
            errno.EFBIG,
            OutputError,
            "a.mp4 cannot be written: the file grows beyond what the file system or a limit of the system allows. "
            "Go elsewhere.",
        ),
    ],
)
def test_the_cause_is_put_in_words(number, kind, message):
    error = refusal(OSError(number, os.strerror(number)), Path("a.mp4"), "Go elsewhere.")
    assert type(error) is kind
    assert str(error) == message


def test_a_file_is_replaced_whole(tmp_path):
    path = tmp_path / "a.json"
    write_whole(path, b"old")
    write_whole(path, b"new")
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("a.json", b"new")]


def test_what_was_there_stays_where_the_new_cannot_be_kept(tmp_path, monkeypatch):
    path = tmp_path / "a.json"
    write_whole(path, b"old")

    def full(path):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(storage, "flush", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, b"new")
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("a.json", b"old")]


def test_a_file_system_that_cannot_be_asked_is_believed(tmp_path, monkeypatch):
    def fsync(descriptor):
        raise OSError(number, "no")

    (tmp_path / "a").write_bytes(b"")
    monkeypatch.setattr(os, "fsync", fsync)
    number = errno.EINVAL
    flush(tmp_path / "a")
    number = errno.EIO
    with pytest.raises(OSError, match="no"):
        flush(tmp_path / "a")


def test_what_is_removed_is_counted(tmp_path):
    folder = tmp_path / "folder"
    (folder / "deep").mkdir(parents=True)
    (folder / "a").write_bytes(b"12")
    (folder / "deep" / "b").write_bytes(b"345")
    assert remove(folder) == Removed(folder, 5)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="needs symbolic links")
def test_what_a_link_points_to_stays(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "a").write_bytes(b"1")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "link").symlink_to(tmp_path / "kept")
    remove(tmp_path / "folder")
    assert [path.name for path in tmp_path.rglob("*")] == ["kept", "a"]


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1.0 kB"), (34_000_000, "34 MB"), (1_230_000_000, "1.2 GB")],
)
def test_units(count, text):
    assert in_units(count) == text


@pytest.mark.parametrize(("flag", "cause"), [(0, "you may not write there"), (1, "its file system is read-only")])
@pytest.mark.skipif(not hasattr(os, "statvfs"), reason="needs flags of file systems")
def test_why_a_folder_cannot_be_written_to(tmp_path, monkeypatch, flag, cause):
    check_writable(tmp_path, "Go elsewhere.")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_flag=flag))
    with pytest.raises(OutputError) as caught:
        check_writable(tmp_path, "Go elsewhere.")
    assert str(caught.value) == f"the folder {tmp_path} cannot be written to: {cause}. Go elsewhere."
