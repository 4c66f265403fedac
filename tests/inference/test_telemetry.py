from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_runtime_keeps_and_sends_nothing_of_its_use(tmp_path):
    """Whatever version is installed: an empty home stays empty while a runtime is read."""
    home = tmp_path / "home"
    home.mkdir()
    places = {name: str(home) for name in ("HOME", "USERPROFILE", "LOCALAPPDATA", "XDG_CACHE_HOME", "XDG_DATA_HOME")}
    environment = {key: value for key, value in os.environ.items() if key != "ORT_DISABLE_TELEMETRY"}
    code = "from facefusion.inference.runtime import read_runtime; import facefusion.inference.session; read_runtime()"
    subprocess.run([sys.executable, "-B", "-c", code], check=True, cwd=ROOT, env=environment | places)
    assert list(home.rglob("*")) == []
