from __future__ import annotations

from pathlib import Path

from facefusion.cli.generate import stale_files, write_files
from facefusion.cli.main import program_schema
from tests.cli.fakes import FakeApplication

SCHEMA = program_schema(FakeApplication())
FILES = [Path("facefusion.ini"), Path("docs/options.md")]


def test_files_are_written_where_they_belong_and_are_up_to_date_then(tmp_path):
    assert stale_files(SCHEMA, tmp_path) == FILES
    write_files(SCHEMA, tmp_path)
    assert stale_files(SCHEMA, tmp_path) == []
    ini = (tmp_path / "facefusion.ini").read_text(encoding="utf-8")
    assert "\n[face_detector]\n# least score; number between 0 and 1 (default: 0.5)\nface_detector_score =\n" in ini
    page = (tmp_path / "docs" / "options.md").read_text(encoding="utf-8")
    commands = "`run`, `headless-run`, `job-add-step`, `job-insert-step`, `doctor`"
    assert f"| `-t`<br>`--target-path` | text | none | {commands} | image or video to change |\n" in page


def test_one_byte_makes_a_file_stale(tmp_path):
    write_files(SCHEMA, tmp_path)
    path = tmp_path / "facefusion.ini"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert stale_files(SCHEMA, tmp_path) == FILES[:1]
