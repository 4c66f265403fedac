from __future__ import annotations

import os
import time

import pytest

from facefusion.core.storage import Removed, size_of
from facefusion.pipeline.left_folders import MARK, remove_stale
from facefusion.pipeline.work_folder import STALE_SECONDS, WorkFolder

HOUR = 3600.0
ADDRESSES = ("0" * 16, "1" * 16, "2" * 16)


@pytest.fixture
def root(tmp_path):
    return tmp_path / "facefusion"


def resumable(root, address, hours=0.0):
    """A folder that a run could go on from, last changed so many hours ago."""
    with WorkFolder.open(root, address, {"target": "a"}, resume=True) as folder:
        file = folder.segment_path(0)
        file.write_bytes(b"segment")
        folder.record(0, file, {})
    age(folder.path, hours)
    return folder.path


def useless(root, address, hours=0.0):
    """A folder of a run that was killed before its first segment was there."""
    path = resumable(root, address)
    (path / "segment-000000.json").unlink()
    age(path, hours)
    return path


def age(path, hours):
    then = time.time() - hours * HOUR
    for one in (*path.iterdir(), path):
        os.utime(one, (then, then))


def test_what_nobody_needs_goes(root):
    needed = resumable(root, ADDRESSES[2], hours=30)
    young = useless(root, ADDRESSES[1], hours=1)
    old = useless(root, ADDRESSES[0], hours=3)
    size = size_of(old)
    assert remove_stale(root, 2 * HOUR) == ([Removed(old, size)], [needed])
    assert (old.exists(), young.exists(), needed.exists()) == (False, True, True)


def test_what_could_be_gone_on_from_goes_when_told(root):
    old = resumable(root, ADDRESSES[0], hours=3)
    young = resumable(root, ADDRESSES[1], hours=1)
    removed, kept = remove_stale(root, 2 * HOUR, resumable=True)
    assert ([one.path for one in removed], kept) == ([old], [young])


def test_another_versions_folder_cannot_be_gone_on_from(root):
    path = resumable(root, ADDRESSES[0])
    (path / MARK).write_text('{"format": 99, "fingerprint": {}}', encoding="utf-8")
    removed, kept = remove_stale(root, 0.0)
    assert ([one.path for one in removed], kept) == ([path], [])
    assert not root.exists()


def test_a_folder_in_use_stays(root):
    with WorkFolder.open(root, ADDRESSES[0], {}, resume=True) as folder:
        age(folder.path, 100)
        assert remove_stale(root, 0.0, resumable=True) == ([], [])
        assert (folder.path / MARK).exists()
        folder.discard()


def test_a_root_that_is_not_there_is_clean(root):
    assert remove_stale(root, 0.0) == ([], [])
    assert not root.exists()


def test_folders_of_other_programs_stay(root):
    stem = root / "holiday"
    stem.mkdir(parents=True)
    (stem / "0001.png").write_bytes(b"frame")
    age(stem, 100)
    assert remove_stale(root, 0.0, resumable=True) == ([], [])
    assert (stem / "0001.png").exists()


def test_a_run_begins_with_removing_what_is_stale(root):
    hours = STALE_SECONDS / HOUR
    needed = resumable(root, "3" * 16, hours=hours + 1)
    young = useless(root, ADDRESSES[1], hours=hours - 1)
    stale = useless(root, ADDRESSES[0], hours=hours + 1)
    with WorkFolder.open(root, ADDRESSES[2], {}, resume=True) as folder:
        assert folder.notices == []
        folder.discard()
    assert (stale.exists(), young.exists(), needed.exists()) == (False, True, True)
    with WorkFolder.open(root, "3" * 16, {"target": "a"}, resume=True) as folder:
        assert len(folder.records) == 1
