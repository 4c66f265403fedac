from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
import subprocess
import sys
import tempfile
import time
from collections import namedtuple
from pathlib import Path

import psutil
import pytest

from facefusion.core import storage
from facefusion.core.errors import OutputError, ResourceError
from facefusion.pipeline import work_root as roots
from facefusion.pipeline.left_folders import MARK
from facefusion.pipeline.work_folder import WorkFolder, address_of, work_root
from facefusion.pipeline.work_root import lock_on

ADDRESS = "0123456789abcdef"
PRINT = {"target": "1 byte", "setting quality": "80"}


@pytest.fixture
def root(tmp_path):
    return tmp_path / "facefusion"


def open_folder(root, *, resume=True, address=ADDRESS, **changed):
    return WorkFolder.open(root, address, PRINT | changed, resume=resume)


def leave(root, count=3, **changed):
    """A run that was killed after some segments; its folder."""
    with open_folder(root, **changed) as folder:
        for number in range(count):
            record(folder, number)
    return folder.path


def record(folder, number):
    file = folder.segment_path(number)
    file.write_bytes(b"segment %d" % number)
    folder.record(number, file, {"number": number})


def folders(root):
    return [path for path in root.iterdir() if path.is_dir()] if root.exists() else []


def test_a_run_that_is_done_leaves_nothing(root):
    with open_folder(root) as folder:
        record(folder, 0)
        folder.discard()
        folder.discard()
    assert not root.exists()


def test_a_run_that_recorded_nothing_leaves_nothing(root):
    with pytest.raises(KeyError), open_folder(root) as folder:
        folder.segment_path(0).write_bytes(b"half a segm")
        raise KeyError
    assert not root.exists()


def test_the_next_run_goes_on(root):
    path = leave(root)
    with open_folder(root) as folder:
        assert folder.path == path
        assert folder.records == ({"number": 0}, {"number": 1}, {"number": 2})
        [notice] = folder.notices
        assert notice.startswith("Going on after 3 finished segments of the run begun at 2")
        record(folder, 3)
    with open_folder(root) as folder:
        assert len(folder.records) == 4


def test_what_is_kept_is_told(root):
    with open_folder(root) as folder:
        assert folder.promise is None
        record(folder, 0)
        record(folder, 1)
    with open_folder(root) as folder:
        assert folder.promise == f"The same command goes on after 2 finished segments, kept in {folder.path}."
        record(folder, 2)
        assert folder.kept == 3
        folder.discard()
        assert folder.promise is None


def test_a_segment_without_frames_needs_no_file(root):
    with open_folder(root) as folder:
        folder.record(0, None, {"number": 0})
    with open_folder(root) as folder:
        assert folder.records == ({"number": 0},)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes")
def test_nobody_else_may_look_into_it(root):
    with open_folder(root) as folder:
        assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700


def test_what_changed_is_said(root):
    leave(root)
    changes = {"setting quality": "90", "target": "x" * 40, "source 2": "b"}
    with WorkFolder.open(root, ADDRESS, PRINT | changes, resume=True) as folder:
        assert folder.records == ()
        assert folder.notices == [
            "Starting afresh, without the 3 finished segments of an earlier run: this changed since: target, "
            "setting quality (80 -> 90), source 2 (none -> b)."
        ]
        assert folders(root) == [folder.path]


def test_many_changes_are_counted(root):
    leave(root, count=1)
    with WorkFolder.open(root, ADDRESS, {str(number): "new" for number in range(7)}, resume=True) as folder:
        assert folder.notices == [
            "Starting afresh, without the 1 finished segment of an earlier run: this changed since: 0 (none -> new), "
            "1 (none -> new), 2 (none -> new), 3 (none -> new), 4 (none -> new) and 4 more."
        ]


def test_going_on_can_be_forbidden(root):
    leave(root)
    with open_folder(root, resume=False) as folder:
        assert folder.records == ()
        assert folder.notices == [
            "Starting afresh, without the 3 finished segments of an earlier run: --no-resume is given."
        ]
        assert folders(root) == [folder.path]


def test_two_runs_at_once_do_not_meet(root):
    with open_folder(root) as first:
        record(first, 0)
        with open_folder(root) as second:
            assert second.path != first.path
            assert (second.records, second.notices) == ((), [])
            second.discard()
        assert first.segment_path(0).read_bytes() == b"segment 0"
    with open_folder(root) as third:
        assert third.path == first.path


def test_of_two_that_were_left_the_one_that_came_further_counts(root):
    with open_folder(root) as first, open_folder(root) as second:
        record(first, 0)
        record(second, 0)
        record(second, 1)
    with open_folder(root) as folder:
        assert (folder.path, len(folder.records)) == (second.path, 2)
        assert folders(root) == [second.path]


def test_other_steps_and_other_files_are_left_alone(root):
    other = leave(root, address="f" * 16)
    (root / "holiday").mkdir()
    (root / f"{ADDRESS}-notes.txt").write_text("mine", encoding="utf-8")
    with open_folder(root, resume=False) as folder:
        folder.discard()
    assert sorted(path.name for path in root.iterdir() if path.name != ".lock") == sorted(
        [other.name, "holiday", f"{ADDRESS}-notes.txt"]
    )


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="needs symbolic links")
def test_a_link_is_not_followed(root, tmp_path):
    elsewhere = leave(tmp_path / "elsewhere")
    root.mkdir()
    (root / f"{ADDRESS}-00000000").symlink_to(elsewhere)
    with open_folder(root, resume=False):
        pass
    assert len(list(elsewhere.iterdir())) == 8


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda path: (path / "segment-000001.mkv").unlink(), "its file is missing or damaged"),
        (lambda path: (path / "segment-000001.mkv").write_bytes(b"segment x"), "its file is missing or damaged"),
        (lambda path: (path / "segment-000001.mkv").write_bytes(b"segment 1."), "its file is missing or damaged"),
        (lambda path: (path / "segment-000001.json").write_bytes(b"{"), "its record is damaged"),
        (lambda path: (path / "segment-000001.json").write_bytes(b"\xff\xfe"), "its record is damaged"),
        (lambda path: (path / "segment-000001.json").write_bytes(b"[" * 100_000), "its record is damaged"),
        (lambda path: (path / "segment-000001.json").write_text('{"format": 1}'), "its record is damaged"),
        (lambda path: replace_in(path / "segment-000001.json", '"format": 1', '"format": 2'), "its record is damaged"),
        (lambda path: replace_in(path / "segment-000001.json", '"size"', '"sise"'), "its file is missing or damaged"),
    ],
)
def test_what_follows_a_damaged_segment_is_made_again(root, harm, message):
    path = leave(root)
    harm(path)
    with open_folder(root) as folder:
        assert folder.records == ({"number": 0},)
        assert folder.notices[0] == f"Segment 1 of an earlier run and all after it are made again: {message}."
        assert sorted(one.name for one in path.iterdir()) == [MARK, "lock", "segment-000000.json", "segment-000000.mkv"]


def replace_in(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_unfinished_files_go_and_foreign_ones_stay(root):
    path = leave(root, count=1)
    for name in ("segment-000001.mkv", "segment-000001.json.part", "segment-000007.json", "notes.txt"):
        (path / name).write_bytes(b"?")
    with open_folder(root) as folder:
        assert len(folder.records) == 1
        names = sorted(one.name for one in path.iterdir())
    assert names == [MARK, "lock", "notes.txt", "segment-000000.json", "segment-000000.mkv"]


@pytest.mark.parametrize("text", ["", "[]", '{"format": 1}', '{"format": 1, "fingerprint": 3}'])
def test_a_folder_that_says_nothing_is_not_gone_on_from(root, text):
    path = leave(root, count=2)
    (path / MARK).write_text(text, encoding="utf-8")
    with open_folder(root) as folder:
        assert folder.records == ()
        assert folder.notices == [
            "Starting afresh, without the 2 finished segments of an earlier run: folder.json in its folder is damaged "
            "or of another version."
        ]
        assert folders(root) == [folder.path]


def test_another_versions_folder_is_not_gone_on_from(root):
    path = leave(root)
    mark = json.loads((path / MARK).read_text(encoding="utf-8"))
    (path / MARK).write_text(json.dumps(mark | {"format": 2}), encoding="utf-8")
    with open_folder(root) as folder:
        assert folder.records == ()
        assert "of another version" in folder.notices[0]


def test_a_folder_whose_removal_was_cut_short_goes_silently(root):
    path = leave(root)
    (path / MARK).unlink()
    with open_folder(root) as folder:
        assert (folder.records, folder.notices) == ((), [])
        assert folders(root) == [folder.path]


def test_the_record_says_what_the_file_is(root):
    with open_folder(root) as folder:
        record(folder, 0)
        text = (folder.path / "segment-000000.json").read_text(encoding="utf-8")
    assert json.loads(text) == {
        "format": 1,
        "file": {"size": 9, "sha256": hashlib.sha256(b"segment 0").hexdigest()},
        "manifest": {"number": 0},
    }


def test_a_full_disk_is_named(root, monkeypatch):
    with open_folder(root) as folder:
        monkeypatch.setattr(storage, "flush", lambda path: fail(errno.ENOSPC))
        with pytest.raises(ResourceError) as caught:
            folder.record(0, None, {})
        assert sorted(path.name for path in folder.path.iterdir()) == [MARK, "lock"]
    assert str(caught.value) == (
        f"{folder.path / 'segment-000000.json'} cannot be written: the disk is full. Free some space. Choose another "
        "folder with --temp-path."
    )
    assert not root.exists()


def fail(number):
    raise OSError(number, os.strerror(number))


def test_a_folder_that_cannot_be_marked_is_not_left(root, monkeypatch):
    monkeypatch.setattr(storage, "flush", lambda path: fail(errno.EROFS))
    with pytest.raises(OutputError, match="cannot be written: its file system is read-only"):
        open_folder(root)
    assert not root.exists()


def test_a_run_that_hangs_is_named(root, monkeypatch):
    monkeypatch.setattr(roots, "LOCK_SECONDS", 0.05)
    root.mkdir()
    with lock_on(root / ".lock"), pytest.raises(ResourceError) as caught:
        open_folder(root)
    assert str(caught.value).startswith(f"{root / '.lock'} is held by another process that does not go on. End")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_kill_at_any_line_loses_no_more_than_the_segment_at_hand(tmp_path):
    words = [sys.executable, "-m", "tests.pipeline.killed_folder", str(tmp_path), "25"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(results) == 25
    assert {result["found"] for result in results} == {0, 1, 2, 3}
    for result in results:
        assert result["recorded"] <= result["found"] <= result["recorded"] + 1, result
        assert result["whole"] and result["again"] == 3, result
        assert result["names"] == [
            MARK,
            "lock",
            *("segment-000000.json", "segment-000000.mkv", "segment-000001.json"),
            *("segment-000002.json", "segment-000002.mkv"),
        ]


def test_an_address_stands_for_target_and_output(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    address = address_of(Path("a.mp4"), Path("b.mp4"))
    assert len(address) == 16
    assert address == address_of(tmp_path / "x" / ".." / "a.mp4", tmp_path / "b.mp4")
    assert len({address, address_of(Path("b.mp4"), Path("a.mp4")), address_of(Path("a.mp4"), Path("c.mp4"))}) == 3


def test_the_folder_that_the_user_names(tmp_path):
    assert work_root(tmp_path / "temp") == tmp_path / "temp" / "facefusion"
    assert (tmp_path / "temp" / "facefusion").is_dir()


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    with pytest.raises(OutputError) as caught:
        work_root(tmp_path / "nowhere" / "temp")
    assert str(caught.value) == (
        f"{tmp_path / 'nowhere' / 'temp' / 'facefusion'} cannot be written: the folder is not there. Choose another "
        "folder with --temp-path."
    )
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OutputError, match=r"facefusion cannot be written: a file"):
        work_root(tmp_path / "file")
    (tmp_path / "facefusion").write_bytes(b"")
    with pytest.raises(OutputError, match=r"facefusion cannot be written: a file of that name is there\."):
        work_root(tmp_path)


def test_a_folder_without_leave_to_write_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(
        OutputError, match=r"facefusion cannot be written to: you may not write there\. Choose another f"
    ):
        work_root(tmp_path)


@pytest.fixture
def system_temp(tmp_path, monkeypatch):
    """Folders in the place of the system's, with what each lies on."""
    temp, large = tmp_path / "tmp", tmp_path / "var"
    temp.mkdir()
    large.mkdir()
    kinds = {tmp_path: "ext4", temp: "ext4", large: "ext4"}
    mount = namedtuple("mount", "mountpoint fstype")

    def disk_partitions(**_):
        return [mount(str(path), kind) for path, kind in kinds.items()]

    monkeypatch.setattr(psutil, "disk_partitions", disk_partitions)
    monkeypatch.setattr(tempfile, "tempdir", str(temp))
    monkeypatch.setattr(roots, "NO_MEMORY", large)
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.delenv(name, raising=False)
    return temp, large, kinds


def test_the_systems_folder_unless_it_lies_in_memory(system_temp, monkeypatch):
    temp, large, kinds = system_temp
    assert work_root(None).parent == temp
    kinds[temp] = "tmpfs"
    assert work_root(None).parent == large
    kinds[large] = "tmpfs"
    assert work_root(None).parent == temp
    kinds[large] = "ext4"
    monkeypatch.setenv("TMPDIR", str(temp))
    assert work_root(None).parent == temp


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs owners")
def test_a_folder_of_someone_else_is_not_trusted(system_temp, monkeypatch):
    root = work_root(None)
    assert stat.S_IMODE(root.stat().st_mode) == 0o700
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    root.rename(root.with_name(f"facefusion-{user + 1}"))
    with pytest.raises(OutputError, match=r"belongs to another user\. Choose another folder with --temp-path"):
        work_root(None)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs owners")
def test_a_link_in_the_systems_folder_is_not_trusted(system_temp, tmp_path):
    root = work_root(None)
    root.rmdir()
    root.symlink_to(tmp_path)
    with pytest.raises(OutputError, match="is no folder"):
        work_root(None)


def test_no_folder_for_temporary_files_at_all(monkeypatch):
    monkeypatch.setattr(tempfile, "gettempdir", fail_softly)
    with pytest.raises(OutputError, match=r"the system has no folder for temporary files that can be written to"):
        work_root(None)


def fail_softly():
    raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")


def test_when_it_began_is_kept(root):
    path = leave(root)
    begun = json.loads((path / MARK).read_text(encoding="utf-8"))["begun"]
    assert abs(begun - time.time()) < 3600
