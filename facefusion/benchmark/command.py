"""How long a whole command takes to get to work, from the moment it is given."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import facefusion
from facefusion.benchmark.cases import Case
from facefusion.config.sources import ENVIRONMENT_PREFIX
from facefusion.config.state import Snapshot
from facefusion.config.values import format_value
from facefusion.core.errors import SetupError

PROGRAM = Path(facefusion.__file__).resolve().parents[1] / "facefusion.py"

FIRST_FRAMES = "process"
"""The stage that begins when the first frame is asked for."""


def command_start(
    case: Case,
    snapshot: Snapshot,
    folder: Path,
    *,
    program: Sequence[str] = (sys.executable, str(PROGRAM)),
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Seconds from starting the program to its asking for the first frame, with everything on the way.

    That is: the interpreter, its imports, reading settings, finding and loading models, looking at the source. It runs
    in a process of its own, with the user's settings, on one frame.

    Args:
        case: what to run.
        snapshot: the settings in force; of them the paths of source, target and output do not count.
        folder: for what it writes, which is removed.
        program: how it is started; another one in tests.
        clock: seconds; another one in tests.

    Raises:
        SetupError: the command failed.
    """
    output, settings = folder / f"command-{case.target.name}", folder / "command.ini"
    settings.touch()
    # The settings come through the environment; the user's own file is read only here, and so cannot add to them.
    words = ("run", "--config-path", settings, "-s", case.source, "-t", case.target, "-o", output)
    more = ("--trim-frame-end", "1", "--log-format", "json", "--log-level", "info")
    said: list[str] = []
    begun = None
    begin = clock()
    with subprocess.Popen(
        [*program, *map(str, words), *more],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
        env=_environment(snapshot),
    ) as process:
        for line in process.stderr or ():
            said.append(line)
            if begun is None and _begins(line):
                begun = clock()
    for path in (output, settings):
        path.unlink(missing_ok=True)
    if process.returncode or begun is None:
        reason = _message(said[-1]) if said else f"it ended with {process.returncode}"
        raise SetupError(f"the command whose start is measured failed: {reason}", "Run the same by hand to see why.")
    return begun - begin


def _environment(snapshot: Snapshot) -> dict[str, str]:
    """This process's environment, in which every setting that somebody chose is a variable."""
    others = {name: value for name, value in os.environ.items() if not name.startswith(ENVIRONMENT_PREFIX)}
    chosen = {
        spec.variable: format_value(spec, snapshot.value(spec))
        for spec in snapshot.schema
        if snapshot.origin(spec.name).given and "benchmark" in spec.commands and spec.section != "benchmark"
    }
    return others | chosen


def _begins(line: str) -> bool:
    record = _record(line)
    return record.get("event") == "stage_started" and record.get("stage") == FIRST_FRAMES


def _message(line: str) -> str:
    return str(_record(line).get("message", line.strip()))


def _record(line: str) -> Mapping[str, object]:
    try:
        record = json.loads(line)
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}
