"""Which tests prove each command and option of FaceFusion 3.8: ``python -m tests.contract.coverage`` prints a table.

Each option is sent along every surface by the tests of this folder. Whether it also *does* something is for the tests
of the code behind it, which name it; so a test file counts for an option where the option's name or flag stands in it.
That finds what nobody tests; whether a test is a good one, no search can tell.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.contract.surfaces import SCHEMA

TESTS = Path(__file__).resolve().parents[1]
TABLE: dict[str, Any] = tomllib.loads(Path(__file__).with_name("facefusion_3_8.toml").read_text(encoding="utf-8"))
COMMANDS: list[str] = TABLE["sets"]["ALL"]
OPTIONS: list[str] = list(TABLE["options"])
NO_PROOFS = ("test_completion.py", "test_generate.py", "test_help.py")
"""Tests of what is written of options, whatever they do."""
SHOWN = 3
"""Test files named for each; more are counted."""


def texts() -> dict[str, str]:
    """Each test file of code behind options, by its path below ``tests``."""
    here = Path(__file__).parent
    return {
        str(path.relative_to(TESTS)): path.read_text(encoding="utf-8")
        for path in sorted(TESTS.rglob("test_*.py"))
        if here not in path.parents and path.name not in NO_PROOFS
    }


def proofs(name: str, files: dict[str, str]) -> list[str]:
    """The test files that name an option or a command."""
    word = re.compile(rf"(?<![\w-])(?:{re.escape(name)}|--{re.escape(name.replace('_', '-'))})(?![\w-])")
    return [path for path, text in files.items() if word.search(text)]


def does_nothing_yet(option: str) -> str:
    """Why nothing but its declaration can be tested of an option; empty where it does something."""
    spec = SCHEMA[option]
    if spec.is_idle and not spec.about.pending:
        return "its processor is not built"
    return "no effect yet" if spec.about.pending else ""


def rows() -> Iterator[tuple[str, str, str]]:
    """Name, state and test files of every command and option."""
    files = texts()
    for command in COMMANDS:
        yield command, "command", _listed(proofs(command, files))
    for option in OPTIONS:
        spec = SCHEMA[option]
        found = proofs(option, files)
        yield spec.flag, does_nothing_yet(option) or "works", _listed(["contract", *found])


def _listed(found: list[str]) -> str:
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return ", ".join(found[:SHOWN]) + more


if __name__ == "__main__":
    sys.stdout.write("| Name | State | Tests |\n|---|---|---|\n")
    sys.stdout.writelines(f"| `{name}` | {state} | {tests} |\n" for name, state, tests in rows())
