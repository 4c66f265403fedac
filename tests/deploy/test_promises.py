"""The guide's table of what holds each part names files and tests that are there."""

from __future__ import annotations

import re

import pytest

from tests.deploy.files import ROOT

GUIDE = (ROOT / "docs" / "production.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in GUIDE.partition("## What each part is held by")[2].splitlines()
    if line.startswith("| ")
][1:]
FILE = re.compile(r"`([\w./-]+(?:\.\w+|/)|Dockerfile)`")
TESTS = re.compile(r"`(tests/[\w/]+\.py)`(?: \(([^)]*)\))?")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_files_and_tests_are_there(row):
    part, files, held = row
    named = FILE.findall(files) + FILE.findall(held)
    assert FILE.findall(files), part
    assert TESTS.findall(held), part
    assert [name for name in named if not (ROOT / name).exists()] == []
    for path, tests in TESTS.findall(held):
        text = (ROOT / path).read_text(encoding="utf-8")
        missing = [name for name in re.findall(r"`(\w+)`", tests) if f"def {name}(" not in text]
        assert missing == [], path


def test_the_table_has_all_parts():
    assert len(ROWS) == 21
