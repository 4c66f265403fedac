"""The command as users type it, on whole and on broken installations."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

from facefusion.cli.main import main
from facefusion.core.errors import ModelError
from facefusion.doctor.examination import Examination
from facefusion.doctor.examine import Part, examine
from facefusion.doctor.finding import Level
from tests.doctor.machines import settings

ROOT = Path(__file__).parents[2]
PROGRAM = "import sys; from facefusion.cli.main import main; raise SystemExit(main(sys.argv[1:]))"


@pytest.fixture
def doctor(tmp_path):
    """Runs the command in a process of its own, with modules in the place of packages."""

    def run(*words, **modules):
        broken = tmp_path / "broken"
        broken.mkdir()
        for name, text in modules.items():
            (broken / f"{name}.py").write_text(text)
        path = os.pathsep.join([str(broken), str(ROOT)])
        return subprocess.run(
            [sys.executable, "-c", PROGRAM, "doctor", *words],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def lines(text, level):
    return [line for line in text.splitlines() if line.split()[:1] == [level]]


@pytest.fixture
def quick(monkeypatch):
    """Leave out what takes long: packages are imported in another process."""
    from facefusion.doctor import packages

    monkeypatch.setattr(packages, "try_imports", lambda names: dict.fromkeys(names, ""))


@pytest.mark.usefixtures("quick")
def test_on_this_machine_a_run_on_the_processor_can_work(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["doctor", "--execution-providers", "cpu"]) == 0
    said = capsys.readouterr()
    assert lines(said.out, "fault") == []
    topics = [line.split()[1] for line in said.out.splitlines() if line.split()[:1] in (["ok"], ["note"], ["warning"])]
    assert list(dict.fromkeys(topics)) == [
        "python", "package", "machine", "device", "provider", "decoder", "encoder", "model", "folder",
            "signer",
    ]  # fmt: skip
    assert "ok       provider  a run with these settings uses cpu\n" in said.out
    assert "\nReady to run" in said.out
    assert "\n[execution]\n" in said.out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("quick")
def test_providers_that_cannot_run_end_it_with_2_from_wherever_they_were_chosen(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["doctor", "--execution-providers", "cann"]) == 2
    (line,) = lines(capsys.readouterr().out, "fault")
    assert "none of the execution providers asked for can be used (cann: the ONNX Runtime installed here has no" in line
    assert line.endswith("Add cpu to --execution-providers to run on the processor.")
    (tmp_path / "facefusion.ini").write_text("[execution]\nexecution_providers = cann\n")
    assert main(["doctor"]) == 2
    assert main(["doctor", "--execution-providers", "cann", "cpu"]) == 0


@pytest.mark.usefixtures("quick")
def test_an_output_folder_that_is_not_there_ends_it_with_2(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["doctor", "--execution-providers", "cpu", "-o", "nowhere/result.mp4"]) == 2
    (line,) = lines(capsys.readouterr().out, "fault")
    assert line.startswith("fault    folder    results: ")


@pytest.mark.usefixtures("quick")
def test_as_json_the_report_is_one_document(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["doctor", "--doctor-format", "json", "--execution-providers", "cpu"]) == 0
    table = json.loads(capsys.readouterr().out)
    assert table["ready"] is True
    assert {"level": "ok", "topic": "provider", "text": "cpu works (any processor)", "remedy": ""} in table["findings"]
    assert {one["option"] for one in table["advice"]["settings"]} >= {"execution_providers", "execution_thread_count"}


def test_without_onnxruntime_the_rest_is_looked_at_all_the_same(doctor):
    done = doctor(onnxruntime="raise ImportError('libonnxruntime.so: cannot enable executable stack')")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr + done.stdout
    (line,) = lines(done.stdout, "fault")
    assert "onnxruntime cannot be imported: ImportError: libonnxruntime.so: cannot enable executable stack" in line
    assert "note     device    not looked at, since onnxruntime cannot be imported\n" in done.stdout
    assert "note     provider  not looked at, since onnxruntime cannot be imported\n" in done.stdout
    assert "ok       encoder   a run with these settings uses libx264" in done.stdout
    assert "ok       folder    " in done.stdout
    assert "Recommended" not in done.stdout


@pytest.mark.parametrize(
    ("module", "text", "fault"),
    [
        (
            "cv2",
            "raise ImportError('libGL.so.1: cannot open shared object file: No such file or directory')",
            "OpenCV needs libGL.so.1, which this system lacks. Run: ",
        ),
        ("numpy", "raise ModuleNotFoundError(\"No module named 'numpy'\")", "numpy is not installed. Run: "),
        ("psutil", "raise ModuleNotFoundError(\"No module named 'psutil'\")", "psutil is not installed. Run: "),
        ("av", "import os; os.abort()", "av cannot be imported: importing it ends the process"),
    ],
)
def test_a_package_that_is_broken_is_a_finding_and_no_traceback(module, text, fault, doctor):
    done = doctor(**{module: text})
    assert done.returncode == 2
    assert "Traceback" not in done.stderr + done.stdout
    assert any(fault in line for line in lines(done.stdout, "fault"))
    assert "ok       python    Python 3." in done.stdout
    assert "A run with these settings cannot work" in done.stdout


class Failing:
    """Parts of an examination that go wrong, by the name of their module."""

    def __init__(self, monkeypatch):
        self._patch = monkeypatch

    def part(self, name, error):
        def findings(examination):
            raise error
            yield

        module = types.ModuleType(name)
        vars(module)["findings"] = findings
        self._patch.setitem(sys.modules, name, module)
        return Part(name, name)


def test_a_part_that_goes_wrong_is_a_finding_and_the_next_one_follows(monkeypatch, caplog):
    failing = Failing(monkeypatch)
    parts = [
        failing.part("first", ModelError("the catalogue is damaged", "Install it again.")),
        failing.part("second", ImportError("No module named 'av'")),
        failing.part("third", ZeroDivisionError("division by zero")),
    ]
    with caplog.at_level(logging.DEBUG, "facefusion"):
        found = list(examine(Examination(settings()), parts))
    assert [(one.level, one.topic, one.text) for one in found] == [
        (Level.FAULT, "first", "the catalogue is damaged"),
        (Level.FAULT, "second", "cannot be looked at: ImportError: No module named 'av'"),
        (Level.FAULT, "third", "cannot be looked at: ZeroDivisionError: division by zero"),
    ]
    raised = [record.exc_info[0] for record in caplog.records if record.exc_info]
    assert raised == [ImportError, ZeroDivisionError]
