"""A person is told once of consent; nobody else, and nothing comes to a halt for it."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from facefusion.cli import step
from facefusion.cli.consent import NOTE, TOLD, tell_of_consent
from facefusion.cli.main import main
from facefusion.observability.terminal import Terminal
from tests.cli.fakes import FakeApplication


class Screen(io.StringIO):
    def isatty(self):
        return True


def said(stream, folder, level="info", *, json=False):
    terminal = Terminal(stream, level)
    terminal.set_up(level, json=json)
    tell_of_consent(terminal, folder)
    return stream.getvalue()


def test_a_person_is_told_once(tmp_path):
    assert said(Screen(), tmp_path) == f"{NOTE}\n"
    assert [path.name for path in tmp_path.iterdir()] == [TOLD]
    assert said(Screen(), tmp_path) == ""


@pytest.mark.parametrize(
    ("stream", "level", "json"), [(io.StringIO, "info", False), (Screen, "info", True), (Screen, "warn", False)]
)
def test_whom_it_would_not_reach_is_told_later(tmp_path, stream, level, json):
    assert said(stream(), tmp_path, level, json=json) == ""
    assert said(Screen(), tmp_path) == f"{NOTE}\n"


def test_a_folder_that_cannot_be_written_hinders_nobody(tmp_path):
    nowhere = tmp_path / "gone"
    assert said(Screen(), nowhere) == said(Screen(), nowhere) == f"{NOTE}\n"
    assert not nowhere.exists()


@pytest.mark.parametrize("command", ["run", "headless-run"])
def test_the_first_run_says_it_and_its_output_is_the_result_alone(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(step, "home_folder", lambda: tmp_path)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    for name in ("source.jpg", "target.mp4"):
        Path(name).write_bytes(b"x")
    words = (command, "-s", "source.jpg", "-t", "target.mp4", "-o", "result.mp4")
    assert main(words, FakeApplication()) == 0
    first = capsys.readouterr()
    assert NOTE in first.err.replace(os.linesep, "\n").splitlines()
    assert first.out == "result.mp4\n"
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert main(words, FakeApplication()) == 0
    assert NOTE not in capsys.readouterr().err


def test_the_note_leads_to_a_page_that_is_there():
    page = Path(__file__).parents[2] / "docs" / "trust.md"
    assert "docs/trust.md" in NOTE
    assert "## Consent" in page.read_text(encoding="utf-8")
