from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PLANTED = {
    "layers": ("vision/planted.py", "import facefusion.pipeline"),
    "beside": ("inference/planted.py", "import facefusion.media"),
    "unlisted": ("planted/__init__.py", ""),
    "processors": ("processors/face_swapper/planted.py", "import facefusion.processors.face_debugger"),
    "state": ("pipeline/planted.py", "import facefusion.config.state"),
    "runtime": ("processors/face_swapper/planted.py", "import onnxruntime"),
    "media": ("faces/planted.py", "import av"),
    "opencv": ("memory/planted.py", "import cv2"),
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree with the modules of this one, empty but for what the contracts name."""
    root = tmp_path_factory.mktemp("tree")
    for source in (ROOT / "facefusion").rglob("*.py"):
        module = root / source.relative_to(ROOT)
        module.parent.mkdir(parents=True, exist_ok=True)
        module.touch()
    (root / "facefusion/inference/__init__.py").write_text("import onnxruntime")
    (root / "facefusion/media/__init__.py").write_text("import av, cv2, ffmpeg")
    (root / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    return root


def check(root: Path) -> str:
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    answer = subprocess.run(
        [sys.executable, "-c", code, "--no-cache"], cwd=root, capture_output=True, text=True, check=False
    )
    return answer.stdout + answer.stderr


def test_the_contracts_hold_on_clean_packages(tree):
    assert "0 broken" in check(tree)


@pytest.mark.parametrize(("path", "code"), PLANTED.values(), ids=PLANTED)
def test_a_planted_violation_breaks_exactly_one_contract(tree, path, code):
    planted = tree / "facefusion" / path
    planted.parent.mkdir(exist_ok=True)
    planted.write_text(code)
    try:
        assert "1 broken" in check(tree)
    finally:
        planted.unlink()
        if not any(planted.parent.iterdir()):
            planted.parent.rmdir()
