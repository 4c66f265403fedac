from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import filelock
import pytest

from facefusion.app.clean import Cleaned, clean
from facefusion.cli.application import load_application
from facefusion.cli.main import main, program_schema
from facefusion.config.settings import CleanSettings, PathsSettings
from facefusion.config.state import Snapshot
from facefusion.core.errors import OutputError
from facefusion.core.storage import Removed
from facefusion.inference import kept
from facefusion.media import output
from facefusion.pipeline.work_folder import WorkFolder
from tests.cli.fakes import FakeApplication

HOUR = 3600


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("facefusion.app.clean.graphs_folder", lambda: tmp_path / "graphs")
    return tmp_path


def settings(**values):
    schema = program_schema(load_application())
    return Snapshot(schema, {}, {}).with_values(values)


def age(path, hours):
    then = time.time() - hours * HOUR
    for one in (*path.rglob("*"), path):
        os.utime(one, (then, then))


def test_the_command_says_what_it_did(capsys, tmp_path):
    left = tmp_path / "left"
    left.mkdir()
    (left / "a").write_bytes(b"12345")
    application = FakeApplication()
    application.cleaned = Cleaned((Removed(Path("a"), 1_200_000), Removed(Path("b"), 1)), (left,))
    assert main(("clean", "--max-age-hours", "0.5"), application) == 0
    captured = capsys.readouterr()
    assert captured.out == "a\nb\n"
    assert captured.err == (
        "Removed: 2, 1.2 MB in all.\n"
        f"{left} (5 bytes) is left: the run that it belongs to can go on. See --resumable.\n"
    )
    assert application.snapshots[0].get(CleanSettings) == CleanSettings(max_age_hours=0.5, resumable=False)


def test_what_is_too_young_to_go_is_not_said_to_need_what_was_given(capsys, tmp_path):
    (tmp_path / "left").mkdir()
    application = FakeApplication()
    application.cleaned = Cleaned((), (tmp_path / "left",))
    assert main(("clean", "--resumable"), application) == 0
    assert capsys.readouterr().err.endswith("the run that it belongs to can go on. See --max-age-hours.\n")


def test_nothing_to_do_is_said(capsys):
    assert main(("clean", "--resumable"), FakeApplication()) == 0
    assert capsys.readouterr() == ("", "Nothing to remove.\n")


def test_a_failure_is_told_in_one_line(capsys):
    assert main(("clean",), FakeApplication(failure=OutputError("a cannot be removed", "Ask."))) == 1
    assert capsys.readouterr() == ("", "error: a cannot be removed. Ask.\n")


def test_each_place_is_cleaned(tmp_path):
    (tmp_path / "temp").mkdir()
    with WorkFolder.open(tmp_path / "temp" / "facefusion", "0" * 16, {}, resume=True) as work:
        work.record(0, None, {})
    age(work.path, 3)
    part = part_of_a_killed_run(tmp_path)
    models = tmp_path / "models"
    old, young = models / ".fetch-old", models / ".fetch-young"
    for scratch, hours in ((old, 3), (young, 1)):
        scratch.mkdir(parents=True)
        (scratch / "a.whl").write_bytes(b"12")
        age(scratch, hours)
    values = {"temp_path": tmp_path / "temp", "output_path": tmp_path / "a.mp4", "models_path": models}
    cleaned = clean(settings(**values))
    assert cleaned == Cleaned((Removed(part, 3), Removed(old, 2)), (work.path,))
    assert (work.path.exists(), part.exists(), old.exists(), young.exists()) == (True, False, False, True)
    [folder] = clean(settings(**values, resumable=True)).removed
    assert folder.path == work.path
    assert not (tmp_path / "temp" / "facefusion").exists()


def test_graphs_that_another_user_keeps_are_left_to_him(tmp_path, monkeypatch):
    graphs = tmp_path / "graphs"
    for name in ("his", "mine"):
        (graphs / name).mkdir(parents=True)
        (graphs / name / "record.json").write_bytes(b"[]")
        age(graphs / name, 32 * 24)
    rmtree = shutil.rmtree

    def refusing(path):
        if path.name == "his":
            raise PermissionError(errno.EACCES, "Permission denied", "record.json")
        rmtree(path)

    monkeypatch.setattr(shutil, "rmtree", refusing)
    assert kept.remove_unused(graphs, 0) == [Removed(graphs / "mine", 2)]
    assert [path.name for path in graphs.iterdir()] == ["his"]
    assert kept.remove_unused(graphs / "his" / "record.json", 0) == []


def test_graphs_go_that_nothing_used_for_a_month(tmp_path):
    graphs = tmp_path / "graphs"
    ages = {"old": 31 * 24, "young": 29 * 24, ".part-old": 3, ".part-young": 1}
    for name, hours in ages.items():
        (graphs / name).mkdir(parents=True)
        (graphs / name / "record.json").write_bytes(b"[]")
        age(graphs / name, hours)
    removed = clean(settings(temp_path=tmp_path, models_path=tmp_path)).removed
    assert removed == (Removed(graphs / ".part-old", 2), Removed(graphs / "old", 2))
    assert sorted(path.name for path in graphs.iterdir()) == [".part-young", "young"]


def part_of_a_killed_run(folder):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    part = folder / f".facefusion-{output._host()}-{ended.pid}-{'0' * 8}-0.part"
    part.write_bytes(b"123")
    return part


def test_a_folder_of_results_that_is_not_there_holds_nothing(tmp_path):
    values = {"temp_path": tmp_path, "models_path": tmp_path, "output_path": tmp_path / "none" / "a.mp4"}
    assert clean(settings(**values)).removed == ()


@pytest.mark.parametrize("name", ["output_path", "models_path", "temp_path"])
def test_a_folder_that_cannot_be_read_is_not_passed_over(tmp_path, name):
    (tmp_path / "file").write_bytes(b"")
    values = {"temp_path": tmp_path, "models_path": tmp_path, name: tmp_path / "file" / "a.mp4"}
    with pytest.raises(OutputError, match=r"file.* cannot be"):
        clean(settings(**values))


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="needs permissions that hold")
@pytest.mark.parametrize("mode", [0o000, 0o300, 0o500])
def test_what_may_not_be_read_or_removed_is_named(tmp_path, mode):
    results = tmp_path / "results"
    results.mkdir()
    part = part_of_a_killed_run(results)
    results.chmod(mode)
    values = {"temp_path": tmp_path, "models_path": tmp_path, "output_path": results}
    try:
        with pytest.raises(OutputError, match=r"results.* cannot be read or removed \(Permission denied\)"):
            clean(settings(**values))
    finally:
        results.chmod(0o700)
    assert part.exists()


def test_models_are_left_alone_while_somebody_fetches(tmp_path):
    models = tmp_path / "models"
    (models / ".fetch-1").mkdir(parents=True)
    values = {"temp_path": tmp_path, "models_path": models, "max_age_hours": 0.0}
    with filelock.FileLock(models / ".fetch.lock"):
        assert clean(settings(**values)).removed == ()
    assert [one.path.name for one in clean(settings(**values)).removed] == [".fetch-1"]


def test_the_default_is_two_hours():
    assert settings().get(CleanSettings) == CleanSettings(max_age_hours=2.0, resumable=False)
    assert settings().get(PathsSettings).temp_path is None
