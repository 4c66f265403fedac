from __future__ import annotations

import errno
import shutil
import tempfile
from collections import namedtuple

import pytest

from facefusion.doctor import folders
from facefusion.doctor.examination import Examination
from facefusion.doctor.finding import Level
from facefusion.doctor.folders import folder_findings, temporary_findings
from tests.doctor.machines import settings

Usage = namedtuple("Usage", "total used free")


@pytest.fixture(autouse=True)
def disk(monkeypatch):
    """The free space of every disk, to be changed."""
    free = [80_000_000_000]
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(free[0], 0, free[0]))
    return free


@pytest.fixture
def unwritable(monkeypatch):
    """No file can be made anywhere, as on a read-only file system."""

    def refuse(*args, **kwargs):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)


def told(found):
    return [(one.level, one.text) for one in found]


def test_a_folder_that_can_be_written_to_tells_what_is_free_and_stays_empty(tmp_path):
    assert told(folder_findings("models", tmp_path, "Choose.")) == [(Level.OK, f"models: {tmp_path}, 80 GB free")]
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_made_when_needed_is_not_made_now(tmp_path):
    folder = tmp_path / "deep" / "models"
    assert told(folder_findings("models", folder, "Choose.")) == [(Level.OK, f"models: {folder}, 80 GB free")]
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_results_that_is_not_there_is_a_fault(tmp_path):
    folder = tmp_path / "results"
    (finding,) = folder_findings("results", folder, "Choose another --output-path.", must_exist=True)
    assert (finding.level, finding.text, finding.remedy) == (
        Level.FAULT,
        f"results: {folder} cannot be written: the folder is not there",
        "Choose another --output-path.",
    )


def test_a_file_in_the_place_of_a_folder_is_said(tmp_path):
    path = tmp_path / "jobs"
    path.write_text("")
    (finding,) = folder_findings("jobs", path, "Choose.", level=Level.WARNING)
    assert (finding.level, finding.text) == (
        Level.WARNING,
        f"jobs: {path} cannot be written: a part of the path is no folder",
    )


def test_a_folder_that_cannot_be_written_to_is_of_the_level_asked_for(tmp_path, unwritable):
    (finding,) = folder_findings("jobs", tmp_path, "Choose.", level=Level.WARNING)
    assert finding.level is Level.WARNING
    assert finding.text == f"jobs: {tmp_path} cannot be written: its file system is read-only"


def test_little_space_is_a_warning(tmp_path, disk):
    disk[0] = 3_000_000_000
    (finding,) = folder_findings("results", tmp_path, "Choose another --output-path.")
    assert (finding.level, finding.text) == (Level.WARNING, f"results: {tmp_path}, 3.0 GB free")
    assert finding.remedy == "Free some space. Choose another --output-path."


def test_the_temporary_folder_is_used_as_a_run_does_and_left_as_it_was(tmp_path):
    (finding,) = temporary_findings(tmp_path)
    assert (finding.level, finding.text) == (Level.OK, f"temporary files: {tmp_path / 'facefusion'}, 80 GB free")
    assert list(tmp_path.iterdir()) == []


def test_a_temporary_folder_that_cannot_be_used_is_a_fault(tmp_path, unwritable):
    file = tmp_path / "file"
    file.write_text("")
    (gone,) = temporary_findings(file / "temp")
    assert (gone.level, gone.remedy) == (Level.FAULT, "Choose another folder with --temp-path.")
    (closed,) = temporary_findings(tmp_path)
    assert (closed.level, closed.text) == (
        Level.FAULT,
        f"{tmp_path / 'facefusion'} cannot be written: its file system is read-only",
    )


def test_every_folder_of_the_settings_is_looked_at(tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "caches_folder", lambda: tmp_path / "caches")
    paths = {name: tmp_path / name for name in ("temp_path", "models_path", "jobs_path")}
    snapshot = settings(**paths, output_path=tmp_path / "result.mp4")
    assert [one.text.partition(",")[0] for one in folders.findings(Examination(snapshot))] == [
        f"temporary files: {tmp_path / 'temp_path' / 'facefusion'}",
        f"results: {tmp_path}",
        f"models: {tmp_path / 'models_path'}",
        f"jobs: {tmp_path / 'jobs_path'}",
        f"caches: {tmp_path / 'caches'}",
    ]
