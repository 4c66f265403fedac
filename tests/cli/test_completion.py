"""The scripts that shells complete the command line with."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from facefusion.cli.application import load_application
from facefusion.cli.command import COMMANDS
from facefusion.cli.completion import SHELLS, completion_script
from facefusion.cli.main import main, program_schema
from facefusion.core.errors import UsageError

COMPLETE = """
source "$1"; shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
found=$(complete -p "$1"); found=${found##*-F }
"${found%% *}"
for word in "${COMPREPLY[@]}"; do echo "$word"; done
"""

needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


@pytest.fixture(scope="module")
def schema():
    return program_schema(load_application())


@pytest.fixture(scope="module")
def complete(schema, tmp_path_factory):
    folder = tmp_path_factory.mktemp("completion")
    (folder / "script").write_text(completion_script("bash", schema), encoding="utf-8")
    (folder / "clip one.mp4").touch()
    (folder / "clips").mkdir()

    def run(*words):
        call = ["bash", "--norc", "-c", COMPLETE, "bash", "./script", *words]
        done = subprocess.run(call, cwd=folder, text=True, capture_output=True, check=True)
        assert done.stderr == ""
        return done.stdout.splitlines()

    return run


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_accepts_its_script(schema, tmp_path, shell):
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}")
    script = tmp_path / "script"
    script.write_text(completion_script(shell, schema), encoding="utf-8")
    done = subprocess.run([shell, "-n", str(script)], text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@needs_bash
@pytest.mark.parametrize("program", [("facefusion",), ("facefusion.py",), ("python", "facefusion.py")])
def test_commands_options_and_values(complete, program):
    assert complete(*program, "job-l") == ["job-list"]
    assert complete(*program, "run", "--face-selector-o") == ["--face-selector-order"]
    assert complete(*program, "run", "--face-selector-mode", "") == ["many", "one", "reference"]
    assert complete(*program, "run", "--face-selector-mode", "o") == ["one"]
    assert complete(*program, "job-list", "") == ["drafted", "queued", "completed", "failed"]


@needs_bash
def test_every_command_is_offered_with_its_options(complete, schema):
    assert complete("facefusion", "") == [command.name for command in COMMANDS]
    for command in COMMANDS:
        offered = complete("facefusion", command.name, "--")
        assert offered == ["--help", *(spec.flag for spec in in_sections(schema.of_command(command.name)))]


def in_sections(specs):
    sections = list(dict.fromkeys(spec.section for spec in specs))
    return sorted(specs, key=lambda spec: sections.index(spec.section))


@needs_bash
def test_a_list_goes_on_and_paths_are_files_or_folders(complete):
    processors = complete("facefusion", "run", "--processors", "")
    assert "face_swapper" in processors
    assert complete("facefusion", "run", "--processors", "face_swapper", "") == processors
    assert sorted(complete("facefusion", "run", "-t", "cl")) == ["clip one.mp4", "clips"]
    assert complete("facefusion", "run", "--temp-path", "cl") == ["clips"]


@needs_bash
def test_another_script_of_python_is_left_alone(complete):
    assert complete("python", "other.py", "job-l") == []


def test_older_names_of_options_are_not_offered(schema):
    script = completion_script("bash", schema)
    assert "--execution-device-ids" in script
    assert "--execution-device-id " not in script


def test_the_command_writes_the_script_and_nothing_else(tmp_path, monkeypatch, capsys, schema):
    monkeypatch.chdir(tmp_path)
    assert main(["completion", "zsh"]) == 0
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == (completion_script("zsh", schema), "")
    assert captured.out.startswith("#compdef facefusion\n")
    assert not list(Path().iterdir())


def test_another_shell_is_refused(schema):
    with pytest.raises(UsageError) as refused:
        completion_script("fish", schema)
    assert str(refused.value) == "there is no completion for the shell 'fish'. Shells are: bash, zsh."
