from __future__ import annotations

import sys

import pytest

from facefusion.doctor.trial import try_imports


@pytest.fixture
def modules(tmp_path, monkeypatch):
    """Writes modules that can be imported."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    def write(**texts):
        for name, text in texts.items():
            (tmp_path / f"{name}.py").write_text(text)

    return write


def test_what_can_be_imported_has_no_fault(modules):
    modules(talkative_one='print(\'["talkative_one", "no"]\')')
    assert try_imports(["json", "talkative_one"]) == {"json": "", "talkative_one": ""}


def test_what_is_missing_or_raises_is_said_with_its_message(modules):
    modules(
        broken_one="raise ImportError('libGL.so.1: cannot open shared object file:\\nNo such file')",
        leaving_one="raise SystemExit(3)",
    )
    assert try_imports(["no_such_package", "broken_one", "leaving_one", "json"]) == {
        "no_such_package": "ModuleNotFoundError: No module named 'no_such_package'",
        "broken_one": "ImportError: libGL.so.1: cannot open shared object file: No such file",
        "leaving_one": "SystemExit: 3",
        "json": "",
    }


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals")
def test_what_ends_the_process_is_named_and_the_rest_is_tried_all_the_same(modules):
    modules(
        aborting_one="import os; os.abort()",
        illegal_one="import os, signal; os.kill(os.getpid(), signal.SIGILL)",
        ending_one="import os; os._exit(7)",
    )
    assert try_imports(["aborting_one", "json", "illegal_one", "ending_one", "ast"]) == {
        "aborting_one": "importing it ends the process (SIGABRT)",
        "json": "",
        "illegal_one": "importing it ends the process (SIGILL)",
        "ending_one": "importing it ends the process with status 7",
        "ast": "",
    }


def test_what_hangs_is_given_up(modules):
    modules(hanging_one="import time; time.sleep(3600)")
    assert try_imports(["json", "hanging_one"], seconds=2.0) == {
        "json": "",
        "hanging_one": "importing it takes longer than 2 seconds",
    }
