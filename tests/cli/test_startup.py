"""What a command that processes nothing does not wait for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = {
    *("PIL", "av", "cv2", "ffmpeg", "imagecodecs", "numpy", "onnx", "onnxruntime", "pillow_heif", "psutil", "tflite"),
    "tqdm",
    *("celery", "fastapi", "kombu", "prometheus_client", "redis", "uvicorn"),
}
CODE = """
import sys
from facefusion.cli.main import main
code = main(sys.argv[1:])
sys.stderr.write("\\n" + " ".join(sorted({name.partition(".")[0] for name in sys.modules})))
raise SystemExit(code)
"""


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((), 0),
        (("--help",), 0),
        (("--version",), 0),
        (("run", "--help"), 0),
        (("job-run-all", "--help"), 0),
        (("worker", "--help"), 0),
        (("submit", "--help"), 0),
        (("job-list", "queued"), 1),
        (("job-create", "one"), 0),
        (("config",), 0),
        (("completion", "bash"), 0),
        (("no-command",), 2),
        (("run", "--no-option"), 2),
    ],
)
def test_nothing_heavy_is_imported(tmp_path, words, code):
    done = subprocess.run(
        [sys.executable, "-c", CODE, *words],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    imported = set(done.stderr.splitlines()[-1].split())
    assert "facefusion" in imported
    assert imported & HEAVY == set()


def test_a_step_waits_for_nothing_that_only_fetching_and_converting_need():
    code = "import sys, facefusion.app.step; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env={}, text=True, capture_output=True, check=True)
    assert {"http.client", "onnx", "ssl", "tflite", "urllib.request"} & set(done.stdout.split()) == set()
