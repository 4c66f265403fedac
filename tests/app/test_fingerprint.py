"""What decides the pixels of a result."""

from __future__ import annotations

from pathlib import Path

import facefusion
from facefusion.app.fingerprint import PROGRAM


def test_every_kind_of_file_of_the_program_counts() -> None:
    files = (path for path in Path(facefusion.__file__).parent.rglob("*") if path.is_file())
    assert {path.suffix for path in files if path.parent.name != "__pycache__"} == PROGRAM
