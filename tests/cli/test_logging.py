"""What a command says, in which form, and what of it is kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from facefusion.cli.main import main
from facefusion.core.errors import MediaError
from facefusion.observability.events import FrameHeld, ModelLoaded, Notice, StageFinished, StageProgress, StageStarted
from tests.cli.fakes import FakeApplication

ROOT = Path(__file__).parents[2]
RUN = ("run", "-t", "target.mp4", "-o", "result.mp4")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("target.mp4").write_bytes(b"x")
    return tmp_path


@pytest.fixture
def application():
    def work(events, stop):
        events.emit(ModelLoaded("yunet", "cpu", 0.25))
        events.emit(Notice("careful", warning=True))
        events.emit(StageStarted("process", 10))
        events.emit(StageProgress(9))
        events.emit(FrameHeld(7, "torn"))
        events.emit(StageFinished(complete=True))

    program = FakeApplication()
    program.before_report = work
    return program


def objects(text):
    return [json.loads(line) for line in text.splitlines()]


def test_in_json_every_line_is_an_object_with_the_fields_of_its_event(application, capsys):
    assert main([*RUN, "--log-format", "json", "--log-level", "debug"], application) == 0
    captured = capsys.readouterr()
    assert captured.out == "result.mp4\n"
    said = {one["event"]: one for one in objects(captured.err)}
    assert list(said) == [
        *("requested", "model_loaded", "notice", "stage_started", "frame_held", "stage_finished", "done"),
    ]
    assert said["requested"]["target"] == "target.mp4"
    assert [said["model_loaded"][key] for key in ("level", "model", "provider", "seconds")] == [
        "debug",
        "yunet",
        "cpu",
        0.25,
    ]
    assert [said["notice"][key] for key in ("level", "message")] == ["warn", "careful"]
    assert [said["stage_started"][key] for key in ("stage", "done", "total", "rate")] == ["process", 0, 10, None]
    assert [said["frame_held"][key] for key in ("frame", "reason")] == [7, "torn"]
    assert [said["stage_finished"][key] for key in ("done", "total", "seconds_left")] == [9, 9, 0.0]
    assert [said["done"][key] for key in ("output", "frames", "faces", "frames_per_second")] == [
        "result.mp4",
        10,
        12,
        20.0,
    ]


def test_a_failure_is_an_object_too(capsys):
    application = FakeApplication(failure=MediaError("target.mp4 breaks off", "Repair it."))
    assert main([*RUN, "--log-format", "json", "--log-level", "error"], application) == 1
    (said,) = objects(capsys.readouterr().err)
    about = {"level": "error", "message": "target.mp4 breaks off. Repair it.", "event": "failed", "kind": "MediaError"}
    assert said == {**said, **about, "exit_code": 1}
    assert "traceback" not in said


@pytest.mark.parametrize(
    ("words", "environment"),
    [
        (("--log-format", "json", "run", "--no-option"), {}),
        (("run", "--no-option", "--log-format", "json"), {}),
        (("run", "--no-option", "--log-format=JSON"), {}),
        (("run", "--no-option"), {"FACEFUSION_LOG_FORMAT": "json"}),
        (("run", "--log-format", "text", "--no-option", "--log-format", "json"), {}),
    ],
)
def test_a_command_line_that_is_wrong_is_told_in_the_form_it_asks_for(words, environment, monkeypatch, capsys):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert main(words, FakeApplication()) == 2
    (said,) = objects(capsys.readouterr().err)
    assert said["kind"] == "UsageError"
    assert said["exit_code"] == 2


def test_the_log_file_gets_all_of_it_at_any_level(application, capsys):
    for level in ("error", "warn", "debug"):
        assert main([*RUN, "--log-path", "run.log", "--log-level", level], application) == 0
    lines = Path("run.log").read_text(encoding="utf-8").splitlines()
    texts = [line.split(" ", 2)[2] for line in lines]
    warnings = ["warn  run: careful", "warn  run: frame 7 is passed through unchanged: torn"]
    assert texts[:2] == warnings
    assert [text for text in texts[2:] if text.startswith("warn")] == warnings
    assert texts[2:6] == [
        "info  cli: source      none",
        "info  cli: target      target.mp4",
        "info  cli: output      result.mp4",
        "info  cli: processors  face_swapper",
    ]
    assert "debug run: loaded yunet on cpu in 0.25 s" in texts
    assert "info  run: process: 0 of 10 frames" in texts
    assert texts[-1] == "info  cli: stage encode  0.30 s"
    assert "process: 0 of 10 frames" not in capsys.readouterr().err


def test_the_log_file_is_json_where_the_terminal_is(application, capsys):
    assert main([*RUN, "--log-path", "run.log", "--log-format", "json"], application) == 0
    assert Path("run.log").read_text(encoding="utf-8") == capsys.readouterr().err


def test_at_debug_the_log_file_has_tracebacks(capsys):
    application = FakeApplication(failure=ZeroDivisionError("of the program's own"))
    assert main([*RUN, "--log-path", "run.log", "--log-level", "debug"], application) == 1
    text = Path("run.log").read_text(encoding="utf-8")
    assert "error cli: Traceback (most recent call last):\n" in text
    assert "error cli: ZeroDivisionError: of the program's own\n" in text
    assert capsys.readouterr().err.splitlines()[-1].startswith("error: unexpected ZeroDivisionError")


def test_a_log_file_that_cannot_be_written_ends_the_run_before_its_work(application, capsys):
    assert main([*RUN, "--log-path", "none/run.log"], application) == 1
    assert capsys.readouterr().err == (
        "error: none/run.log cannot be written: the folder is not there. Name another file with --log-path.\n"
    )
    assert application.snapshots == []


@pytest.mark.parametrize("path", ["target.mp4", "./result.mp4", "facefusion.ini"])
def test_a_file_of_the_run_is_no_log_file(application, capsys, path):
    assert main([*RUN, "--log-path", path], application) == 2
    assert capsys.readouterr().err == (
        f"error: --log-path {Path(path)} is a file that the run works with. Name another file.\n"
    )
    assert Path("target.mp4").read_bytes() == b"x"
    assert application.snapshots == []


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("folder/target.mp4", "--log-path folder/target.mp4 is a file that the run works with. Name another file."),
        (".jobs/queued/a.json", "--log-path .jobs/queued/a.json would lie among the jobs. Name another file."),
        (
            ".jobs/drafted/../queued/a",
            "--log-path .jobs/drafted/../queued/a would lie among the jobs. Name another file.",
        ),
        (
            "photo.jpg",
            "photo.jpg is there already and is not a log of this program. It stays as it is. "
            "Name another file with --log-path.",
        ),
    ],
)
def test_nothing_is_added_to_what_is_no_log(application, capsys, path, message):
    for name in ("folder", ".jobs/queued", ".jobs/drafted"):
        Path(name).mkdir(parents=True)
    Path("photo.jpg").write_bytes(b"\xff\xd8\xff")
    before = sorted(Path().rglob("*"))
    assert main(["run", "-t", "target.mp4", "-o", "folder", "--log-path", path], application) == 2
    assert capsys.readouterr().err == f"error: {message}\n"
    assert sorted(Path().rglob("*")) == before
    assert Path("photo.jpg").read_bytes() == b"\xff\xd8\xff"
    assert application.snapshots == []


def test_a_log_may_lie_beside_the_folders_of_jobs(application):
    Path(".jobs").mkdir()
    assert main([*RUN, "--log-path", ".jobs/run.log"], application) == 0
    assert Path(".jobs/run.log").stat().st_size > 0


def test_no_result_of_a_batch_takes_the_place_of_the_log(application, capsys):
    Path("results").mkdir()
    words = ["batch-run", "-t", "target.mp4", "-o", "results/{index}.mp4", "--log-path", "results/0.mp4"]
    assert main(words, application) == 2
    assert capsys.readouterr().err == (
        "error: --log-path results/0.mp4 is a file that the run works with. Name another file.\n"
    )
    assert application.snapshots == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_nobody_waits_for_the_reader_of_a_pipe(application, capsys):
    os.mkfifo("pipe")
    assert main([*RUN, "--log-path", "pipe"], application) == 2
    assert capsys.readouterr().err == "error: pipe is no regular file. Name another file with --log-path.\n"


def test_a_name_that_no_file_can_have_is_no_log(application, capsys):
    assert main([*RUN, "--log-path", "x" * 300], application) == 1
    assert capsys.readouterr().err.endswith(
        "x cannot be written: the name is too long. Name another file with --log-path.\n"
    )


def test_what_python_warns_of_is_an_object_too(tmp_path):
    code = (
        "import sys, warnings\n"
        "from facefusion.cli.main import main\n"
        "from tests.cli.fakes import FakeApplication\n"
        "application = FakeApplication()\n"
        "application.before_report = lambda events, stop: warnings.warn('odd', RuntimeWarning)\n"
        "raise SystemExit(main(sys.argv[1:], application))\n"
    )
    call = [sys.executable, "-W", "default", "-c", code, *RUN, "--log-format", "json", "--log-level", "warn"]
    done = subprocess.run(
        call, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, text=True, capture_output=True, check=True
    )
    (said,) = objects(done.stderr)
    assert (said["level"], said["module"]) == ("warn", "py.warnings")
    assert "RuntimeWarning: odd" in said["message"]
