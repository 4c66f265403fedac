"""The contributors' page says how a family of face swappers is added; here that is done, to a copy of the program."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

import cv2
import numpy as np
import pytest

from facefusion.catalogue.store import ModelStore
from tests.app.conftest import SOURCE, TARGET
from tests.toys.swappers import colour_swapper

ROOT = Path(__file__).parents[2]
FAMILIES = Path("facefusion/processors/face_swapper/families")
PROCESSOR = Path("facefusion/processors/face_swapper/processor.py")
CATALOGUE = Path("facefusion/catalogue/catalogue.toml")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A copy of the program to which the page's recipe was applied."""
    copy = tmp_path / "program"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "facefusion", copy / "facefusion", ignore=ignored)
    shutil.copy(ROOT / "facefusion.py", copy)
    page = (ROOT / "docs" / "newcomers.md").read_text(encoding="utf-8")
    recipe = page.partition("### A family of face swappers, in full")[2].partition("\n## ")[0]
    file, line, entry = re.findall(r"```(?:python|toml)\n(.*?)```", recipe, re.DOTALL)
    (copy / FAMILIES / "portrait.py").write_text(file, encoding="utf-8")
    _insert(
        copy / PROCESSOR, "FAMILIES: ", "from facefusion.processors.face_swapper.families.portrait import portrait\n"
    )
    _insert(copy / PROCESSOR, '    "simswap": simswap,\n', line)
    with (copy / CATALOGUE).open("a", encoding="utf-8") as catalogue:
        catalogue.write(f"\n{entry}")
    return copy


def _insert(path: Path, before: str, text: str) -> None:
    head, found, tail = path.read_text(encoding="utf-8").partition(before)
    assert found
    path.write_text(head + text + found + tail, encoding="utf-8")


def call(program: Path, *words: object) -> str:
    command = [sys.executable, str(program / "facefusion.py"), *map(str, words)]
    done = subprocess.run(command, cwd=program, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_one_file_one_line_and_one_entry_make_a_family_of_swappers(
    program: Path, tmp_path: Path, embedded_models: ModelStore
) -> None:
    assert "portrait_128" in call(program, "run", "--help")
    models = tmp_path / "models"
    models.mkdir()
    graph = colour_swapper((3, 128, 128), size=128, gain=(0, 1, 1), offset=(1, 0, 0)).SerializeToString()
    (models / "portrait_128.onnx").write_bytes(graph)
    (models / "portrait_128.hash").write_text(f"{zlib.crc32(graph):08x}", encoding="ascii")
    (program / "models").symlink_to(embedded_models.find(embedded_models.catalogue.card("yunet")).parent)  # type: ignore[union-attr]
    still = tmp_path / "still.png"
    capture = cv2.VideoCapture(str(TARGET))
    _, frame = capture.read()
    cv2.imwrite(str(still), cv2.resize(frame, (480, 270), interpolation=cv2.INTER_AREA))
    words = ("-s", SOURCE, "-t", still, "-o", tmp_path / "out.png", "--face-swapper-model", "portrait_128")
    call(program, "run", *words, "--models-path", models)
    before, after = (cv2.imread(str(path)).astype(int) for path in (still, tmp_path / "out.png"))  # type: ignore[union-attr]
    red = after[..., 2] - before[..., 2]
    assert 0.01 < (red > 40).mean() < 0.2, "the face, not the picture, is tinted"
    assert np.abs(after - before)[..., :2].mean() < 0.5, "other colours stay, but for what a crop of 128 pixels blurs"
