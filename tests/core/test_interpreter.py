import subprocess
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from facefusion.catalogue.wheels import run_pip
from facefusion.core.interpreter import interpreter
from facefusion.doctor.trial import try_imports
from facefusion.service.look import look


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in whose modules write down that they were run; where they do so."""
    run = tmp_path / "run"
    folder = tmp_path / "trap"
    folder.mkdir()
    for name in ("json", "pip", "facefusion"):
        (folder / f"{name}.py").write_text(f"open({str(run)!r}, 'a').write({name!r})\n")
    monkeypatch.chdir(folder)
    return run


def test_what_lies_where_we_work_is_no_module(trap):
    done = subprocess.run(interpreter("-c", "import json; print(json.dumps(1))"), capture_output=True, check=True)
    assert done.stdout.split() == [b"1"]
    assert not trap.exists()


def test_pip_is_python_s_own(trap, tmp_path):
    status, said = run_pip(["--version"], tmp_path, lambda: None)
    assert (status, said.split()[0]) == (0, "pip")
    assert not trap.exists()


def test_packages_are_tried_as_they_are_installed(trap):
    assert try_imports(["numpy"]) == {"numpy": ""}
    assert not trap.exists()


def test_uploads_are_looked_at_by_the_program_itself(trap, tmp_path):
    path = tmp_path / "upload.png"
    Image.fromarray(np.zeros((6, 8, 3), np.uint8)).save(path)
    assert (look(path).width, look(path).media_type) == (8, "image/png")
    assert not trap.exists()
