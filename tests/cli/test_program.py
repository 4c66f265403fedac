"""The command line with the real program behind it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from facefusion.cli.application import load_application
from facefusion.cli.generate import stale_files
from facefusion.cli.main import main, program_schema

ROOT = Path(__file__).parents[2]


def test_the_files_in_the_repository_say_what_the_options_say():
    assert stale_files(program_schema(load_application()), ROOT) == []


def test_help_waits_for_no_heavy_package():
    heavy = {"av", "cv2", "numpy", "onnx", "onnxruntime", "PIL", "tqdm"}
    code = (
        "import sys\n"
        "from facefusion.cli.main import main\n"
        "main(['run', '--help'])\n"
        f"sys.stdout.write(repr(sorted({heavy!r} & set(sys.modules))))\n"
    )
    shown = subprocess.run([sys.executable, "-c", code], cwd=ROOT, text=True, capture_output=True, check=True)
    assert shown.stdout.splitlines()[-1] == "[]"


def test_the_template_is_accepted_and_changes_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    main(["config"])
    defaults = capsys.readouterr().out
    Path("facefusion.ini").write_bytes((ROOT / "facefusion.ini").read_bytes())
    assert main(["config"]) == 0
    assert capsys.readouterr().out == defaults


def test_each_source_that_cannot_serve_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["run", "-s", "none.jpg", "-t", "none.mp4", "-o", "out.mp4"]) == 1
    assert capsys.readouterr().err == (
        "error: source none.jpg: there is no such file. Check the path given with --source-paths.\n"
    )
