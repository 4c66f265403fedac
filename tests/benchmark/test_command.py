"""How long a whole command takes to begin, with programs that say when they do."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from facefusion.app.engine import Engine
from facefusion.benchmark.cases import Case
from facefusion.benchmark.command import command_start
from facefusion.benchmark.settings import BenchmarkSettings
from facefusion.config.origin import COMMAND_LINE
from facefusion.config.schema import Schema
from facefusion.config.state import Snapshot
from facefusion.core.errors import SetupError

CASE = Case("240p", Path("source.jpg"), Path("target-240p.mp4"))

BEGINS = "print(json.dumps({'event': 'stage_started', 'stage': 'process', 'message': '-'}), file=sys.stderr)"


def program(folder, *lines):
    """A program that writes down how it was called, and then does what it is told."""
    path = folder / "program.py"
    heard = folder / "heard.json"
    write = f"open({str(heard)!r}, 'w').write(json.dumps([sys.argv[1:], dict(os.environ)]))"
    path.write_text("\n".join(["import json, os, sys", write, *lines]), encoding="utf-8")
    return (sys.executable, str(path))


def snapshot(**values):
    engine = Engine()
    schema = Schema.of((*engine.settings_groups(), BenchmarkSettings), engine.option_choices())
    return Snapshot(schema, {}, {}).with_values(values, COMMAND_LINE)


def start(folder, settings, *lines):
    ticks = iter(range(100))
    return command_start(CASE, settings, folder, program=program(folder, *lines), clock=lambda: float(next(ticks)))


def test_the_clock_is_read_when_the_first_frame_is_asked_for(tmp_path):
    lines = ("print('no JSON', file=sys.stderr)", "print('[1]', file=sys.stderr)", BEGINS, BEGINS)
    assert start(tmp_path, snapshot(), *lines) == 1.0
    words, _ = json.loads((tmp_path / "heard.json").read_text("utf-8"))
    assert words[0] == "run"
    assert words[3:9] == ["-s", "source.jpg", "-t", "target-240p.mp4", "-o", str(tmp_path / "command-target-240p.mp4")]
    assert words[9:] == ["--trim-frame-end", "1", "--log-format", "json", "--log-level", "info"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["heard.json", "program.py"]


def test_it_runs_with_the_users_settings_and_no_others(tmp_path, monkeypatch):
    monkeypatch.setenv("FACEFUSION_REPORT", "report.json")
    monkeypatch.setenv("OTHER", "stays")
    values = {"execution_thread_count": 3, "benchmark_cycle_count": 7, "source_paths": (Path("my face.png"),)}
    start(tmp_path, snapshot(**values, face_detector_angles=(0, 90)), BEGINS)
    (_, _, ini, *_), environment = json.loads((tmp_path / "heard.json").read_text("utf-8"))
    ours = {name: value for name, value in environment.items() if name.startswith("FACEFUSION_")}
    assert ours == {"FACEFUSION_EXECUTION_THREAD_COUNT": "3", "FACEFUSION_FACE_DETECTOR_ANGLES": "0 90"}
    assert environment["OTHER"] == "stays"
    assert ini == str(tmp_path / "command.ini")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["print(json.dumps({'message': 'no face'}), file=sys.stderr)", "sys.exit(1)"], "no face"),
        (["raise KeyError('x')"], "KeyError: 'x'"),
        (["sys.exit(3)"], "it ended with 3"),
        ([], "it ended with 0"),
        ([BEGINS, "sys.exit(1)"], "-"),
    ],
)
def test_a_command_that_fails_is_told_with_its_reason(tmp_path, lines, said):
    with pytest.raises(SetupError) as caught:
        start(tmp_path, snapshot(), *lines)
    message = f"the command whose start is measured failed: {said}. Run the same by hand to see why."
    assert str(caught.value) == message
    assert not (tmp_path / "command.ini").exists()


def test_the_real_program_begins(tmp_path, model_path):
    assets = Path(__file__).parents[2] / "assets" / "benchmark"
    case = Case("240p", assets / "source.jpg", assets / "target-240p.mp4")
    assert command_start(case, snapshot(models_path=model_path("yunet").parent), tmp_path) > 0
    assert list(tmp_path.iterdir()) == []
