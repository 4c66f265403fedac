from __future__ import annotations

import json
from pathlib import Path

import pytest

from facefusion.benchmark import cases
from facefusion.cli import main as cli
from facefusion.cli.commands import benchmark
from facefusion.cli.main import main
from facefusion.cli.signals import work_listening
from facefusion.config.settings import PathsSettings
from facefusion.core.errors import SetupError
from facefusion.faces.settings import FaceSelectorSettings
from tests.cli.fakes import FakeApplication
from tests.config.groups import SampleDetector


@pytest.fixture
def assets(tmp_path, monkeypatch):
    folder = tmp_path / "assets"
    folder.mkdir()
    for name in ("source.jpg", "target-240p.mp4", "target-2160p.mp4"):
        (folder / name).write_bytes(b"x")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cases, "ASSETS", folder)
    monkeypatch.setattr(benchmark, "command_start", lambda case, snapshot, folder: 2.0)
    return folder


def test_every_clip_runs_with_the_users_settings(assets, capsys):
    application = FakeApplication()
    code = main(
        [
            *("benchmark", "--benchmark-resolutions", "240p", "4K", "--benchmark-cycle-count", "2"),
            *("--face-detector-score", "0.3", "--benchmark-record-path", "record.jsonl"),
        ],
        application,
    )
    assert code == 0
    captured = capsys.readouterr()
    assert captured.err == "step 1 of 2: target-240p.mp4\nstep 2 of 2: target-2160p.mp4\n"
    rows = captured.out.splitlines()
    assert rows[2].split()[:2] == ["target-240p.mp4", "2"]
    assert rows[3].split()[:2] == ["target-2160p.mp4", "2"]
    assert len(application.snapshots) == 2 * (1 + 2)
    assert {snapshot.get(SampleDetector).face_detector_score for snapshot in application.snapshots} == {0.3}
    paths = [snapshot.get(PathsSettings) for snapshot in application.snapshots]
    assert {path.source_paths for path in paths} == {(assets / "source.jpg",)}
    assert not any(path.output_path is None or path.output_path.exists() for path in paths)
    records = [json.loads(line) for line in Path("record.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [entry["resolution"] for entry in records] == ["240p", "2160p"]


@pytest.mark.usefixtures("assets")
def test_a_map_of_faces_in_the_ini_file_is_for_other_targets():
    Path("facefusion.ini").write_text("[face_selector]\nface_map = me.png=you.png\n", encoding="utf-8")
    application = FakeApplication()
    assert main(["benchmark", "--benchmark-resolutions", "240p"], application) == 0
    assert {snapshot.get(FaceSelectorSettings).face_map for snapshot in application.snapshots} == {()}


def test_cold_unloads_the_models_before_each_cycle(assets):
    application = FakeApplication()
    assert main(["benchmark", "--benchmark-mode", "cold", "--benchmark-cycle-count", "3"], application) == 0
    assert application.released == 3
    assert len(application.snapshots) == 3


def test_a_record_that_cannot_be_written_is_said_before_anything_runs(assets, capsys):
    application = FakeApplication()
    assert main(["benchmark", "--benchmark-record-path", "no/record.jsonl"], application) == 1
    assert application.snapshots == []
    assert capsys.readouterr().err == (
        "error: cannot write the benchmark's record no/record.jsonl: No such file or directory. "
        "Choose another --benchmark-record-path.\n"
    )


def test_a_chart_that_cannot_be_written_is_said_before_anything_runs(assets, capsys):
    application = FakeApplication()
    (assets / "me.png").write_bytes(b"a photo")
    assert main(["benchmark", "--benchmark-chart-path", "no/chart.svg"], application) == 1
    assert main(["benchmark", "--benchmark-chart-path", str(assets / "me.png")], application) == 2
    assert application.snapshots == []
    assert (assets / "me.png").read_bytes() == b"a photo"
    assert capsys.readouterr().err == (
        "error: cannot write the benchmark's chart no/chart.svg: No such file or directory. "
        "Choose another --benchmark-chart-path.\n"
        f"error: {assets / 'me.png'} is there already and is not a chart of a benchmark. It stays as it is. "
        "Choose another --benchmark-chart-path.\n"
    )


@pytest.mark.usefixtures("assets")
def test_a_baseline_without_records_is_refused(capsys):
    application = FakeApplication()
    assert main(["benchmark", "--benchmark-baseline", "before"], application) == 2
    assert application.snapshots == []
    assert capsys.readouterr().err == (
        "error: --benchmark-baseline before names records, and no file of any is given. "
        "Give it with --benchmark-record-path.\n"
    )


def test_missing_clips_are_named(assets, capsys):
    assert main(["benchmark", "--benchmark-resolutions", "720p"], FakeApplication()) == 2
    assert capsys.readouterr().err == (
        f"error: the benchmark's file {assets / 'target-720p.mp4'} is not there. "
        "Make it with: python scripts/make_assets.py --only benchmark\n"
    )


def test_a_stop_ends_the_benchmark(assets, capsys):
    application = FakeApplication()
    application.before_report = lambda events, stop: stop.request("Ctrl-C")
    assert main(["benchmark"], application) == 4
    assert len(application.snapshots) == 1
    assert capsys.readouterr().out == ""


def test_a_temporary_folder_that_is_not_there_is_named(assets, capsys):
    application = FakeApplication()
    assert main(["benchmark", "--temp-path", "nowhere"], application) == 2
    assert application.snapshots == []
    assert capsys.readouterr().err == (
        "error: no folder can be made in nowhere: No such file or directory. Choose another one with --temp-path.\n"
    )


@pytest.mark.usefixtures("assets")
def test_a_stop_while_the_command_starts_is_a_stop_and_no_failure(monkeypatch, capsys):
    tokens = []
    application = FakeApplication()

    def listening(work, stop, terminal):
        tokens.append(stop)
        return work_listening(work, stop, terminal)

    def interrupted(case, snapshot, folder):
        tokens[0].request("Ctrl-C")
        raise SetupError("the command whose start is measured failed: stopped")

    monkeypatch.setattr(cli, "work_listening", listening)
    monkeypatch.setattr(benchmark, "command_start", interrupted)
    assert main(["benchmark"], application) == 4
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "failed" not in captured.err
