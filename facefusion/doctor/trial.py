"""Imports packages in a process of their own, since one that is broken may end the process that imports it.

A build for a newer processor ends it by an illegal instruction, two versions of one library by a segmentation fault;
Python cannot catch either.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from facefusion.core.interpreter import interpreter

SECONDS = 120.0
"""A package that takes longer than that to import, on whatever disk, is given up."""

MARK = "\x1e"
"""Begins the lines that are ours; packages may print lines of their own while they are imported."""

PROGRAM = f"""
import importlib, json, sys
paths, names = json.loads(sys.argv[1])
sys.path[:] = paths
for name in names:
    try:
        importlib.import_module(name)
        fault = ""
    except BaseException as error:
        fault = f"{{type(error).__name__}}: {{error}}"
    print("\\n{MARK}" + json.dumps([name, fault]), flush=True)
"""


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a process said before it ended."""

    faults: dict[str, str]
    ending: str
    """How it ended, in words, where that was before its time."""


def try_imports(names: Sequence[str], seconds: float = SECONDS) -> dict[str, str]:
    """Import modules, and say of each what went wrong; empty where it can be imported.

    Args:
        names: of the modules.
        seconds: that one process may take for those that are left.
    """
    faults: dict[str, str] = {}
    left = list(names)
    while left:
        answer = _ask(left, seconds)
        faults |= answer.faults
        left = [name for name in left if name not in faults]
        if left:
            faults[left.pop(0)] = answer.ending or "importing it ends the process"
    return faults


def _ask(names: Sequence[str], seconds: float) -> _Answer:
    command = interpreter("-c", PROGRAM, json.dumps([sys.path, list(names)]))
    try:
        done = subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired as error:
        # Bytes, whatever encoding was asked for, and none where nothing was said.
        said = error.stdout if isinstance(error.stdout, bytes) else b""
        return _Answer(_read(said.decode(errors="replace")), f"importing it takes longer than {seconds:.0f} seconds")
    return _Answer(_read(done.stdout), _ending(done.returncode))


def _read(text: str) -> dict[str, str]:
    lines = (line[len(MARK) :] for line in text.split("\n") if line.startswith(MARK))
    return {name: " ".join(fault.split()) for name, fault in map(json.loads, lines)}


def _ending(status: int) -> str:
    if status >= 0:
        return f"importing it ends the process with status {status}"
    try:
        return f"importing it ends the process ({signal.Signals(-status).name})"
    except ValueError:
        return f"importing it ends the process (signal {-status})"
