import pytest

from facefusion.cli.application import load_application
from facefusion.cli.main import program_schema
from facefusion.config.settings import PathsSettings
from facefusion.config.state import Snapshot
from facefusion.pipeline.work_root import lock_on
from facefusion.service.scratch import LOCK, sweep_scratch, temporary_files_of


@pytest.fixture
def snapshot(tmp_path):
    return Snapshot(program_schema(load_application()), {}, {}).with_values({"temp_path": tmp_path / "temp"})


def folder_of(snapshot):
    return snapshot.get(PathsSettings).temp_path


def test_what_a_job_left_to_go_on_from_goes_with_it_however_it_ends(snapshot, tmp_path):
    class Cancelled(BaseException):
        pass

    with pytest.raises(Cancelled), temporary_files_of(snapshot) as own:
        folder = folder_of(own)
        assert folder.is_relative_to(tmp_path / "temp")
        assert folder.stat().st_mode & 0o777 == 0o700
        kept = folder / "facefusion" / "0123456789abcdef-01234567"
        kept.mkdir(parents=True)
        (kept / "segment-000000.mkv").write_bytes(b"a face")
        raise Cancelled
    assert list((tmp_path / "temp").iterdir()) == []


def test_what_a_killed_process_left_goes_with_the_next_job_and_nothing_in_use_does(snapshot, tmp_path):
    left = tmp_path / "temp" / "facefusion" / "job-left"
    left.mkdir(parents=True)
    (left / LOCK).touch()
    others = left.with_name("0123456789abcdef-01234567")
    others.mkdir()
    with temporary_files_of(snapshot) as first, temporary_files_of(snapshot) as second:
        assert not left.exists()
        assert folder_of(first).is_dir()
        assert folder_of(second).is_dir()
    assert others.is_dir()
    assert not folder_of(first).exists()


def test_what_a_killed_process_left_can_be_removed_before_any_job(tmp_path):
    left, used = tmp_path / "job-left", tmp_path / "job-used"
    for folder in (left, used):
        folder.mkdir()
        (folder / "face.png").write_bytes(b"a face")
    lock = lock_on(used / LOCK)
    lock.acquire(timeout=0)
    sweep_scratch((tmp_path, tmp_path / "missing"))
    lock.release()
    assert not left.exists()
    assert (used / "face.png").exists()
    assert not (tmp_path / "missing").exists()
