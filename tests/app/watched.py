"""The whole program in a process of its own, with a look at its memory twenty times a second."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

REPOSITORY = Path(__file__).parents[2]
INTERVAL = 0.05
SECONDS = 900


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that has ended."""

    status: int
    said: str
    peak: int
    """Bytes that the process and its children held at most: the highest sum that was seen, or, where the system keeps
    it, the highest point of the process itself."""


def run_watched(words: Sequence[str], folder: Path, program: Sequence[str] = ("facefusion.py",)) -> Ended:
    """Run a command line of the program to its end.

    Args:
        words: of the command line.
        folder: for what it writes beside the result.
        program: what Python is told to run.
    """
    command = [sys.executable, *program, *words, "--temp-path", str(folder)]
    log = folder / "said.txt"
    with log.open("wb") as said, subprocess.Popen(command, cwd=REPOSITORY, stdout=said, stderr=said) as process:
        peak, begun = 0, time.monotonic()
        while process.poll() is None:
            peak = max(peak, _held(process.pid))
            if time.monotonic() - begun > SECONDS:
                process.kill()
                raise TimeoutError(f"{command} stands still")
            time.sleep(INTERVAL)
    return Ended(process.returncode, log.read_text(encoding="utf-8"), peak)


def _held(number: int) -> int:
    total = 0
    with contextlib.suppress(psutil.NoSuchProcess, OSError):
        process = psutil.Process(number)
        total = process.memory_info().rss
        total += sum(child.memory_info().rss for child in process.children(recursive=True))
        return max(total, _highest(number))
    return total


def _highest(number: int) -> int:
    status = Path(f"/proc/{number}/status")
    lines = status.read_text(encoding="utf-8").splitlines() if status.exists() else []
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM:")), 0)
