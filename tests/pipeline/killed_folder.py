"""Kills a run that records segments, at one line after the other, and tells what the next run finds.

Run as a program: it forks, which a process with threads, such as the one that runs the tests, must not.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from facefusion.core import storage
from facefusion.pipeline import work_folder, work_root
from facefusion.pipeline.work_folder import WorkFolder

ADDRESS = "0123456789abcdef"
PRINT = {"target": "a"}
SEGMENTS = 3
WATCHED = {storage.__file__, work_folder.__file__, work_root.__file__}


def content(number: int) -> bytes:
    """What a segment holds."""
    return f"segment {number} ".encode() * 5000


def run(root: Path, said: Path | None = None) -> list[int]:
    """Record all segments but those that are there; how many there were."""
    found = []
    with WorkFolder.open(root, ADDRESS, PRINT, resume=True) as folder:
        found.append(len(folder.records))
        for number in range(len(folder.records), SEGMENTS):
            file = folder.segment_path(number) if number != 1 else None
            if file is not None:
                file.write_bytes(content(number))
            folder.record(number, file, {"number": number})
            if said is not None:
                said.write_text(str(number + 1), encoding="ascii")
    return found


def run_and_die(root: Path, said: Path, at: int) -> None:
    """Run in a process of its own that kills itself at a line of the code watched."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    left = at

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal left
        if frame.f_code.co_filename not in WATCHED:
            return None
        if event == "line":
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)
    run(root, said)
    os.kill(os.getpid(), signal.SIGKILL)


def lines(root: Path) -> int:
    """How many lines a whole run passes."""
    count = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        if frame.f_code.co_filename not in WATCHED:
            return None
        count += event == "line"
        return trace

    sys.settrace(trace)
    run(root)
    sys.settrace(None)
    return count


def main() -> None:
    """Try as many points as asked for, and print for each what was recorded, found, and there in the end."""
    base, points = Path(sys.argv[1]), int(sys.argv[2])
    total = lines(base / "whole")
    chosen = random.Random(20).sample(range(1, total + 1), points)
    for at in sorted(chosen):
        root, said = base / f"root-{at}", base / f"said-{at}"
        run_and_die(root, said, at)
        recorded = int(said.read_text(encoding="ascii")) if said.exists() else 0
        found = run(root)[0]
        [folder] = [path for path in root.iterdir() if path.is_dir()]
        result = {
            "at": at,
            "recorded": recorded,
            "found": found,
            "names": sorted(path.name for path in folder.iterdir()),
            "whole": all((folder / f"segment-{number:06d}.mkv").read_bytes() == content(number) for number in (0, 2)),
            "again": run(root)[0],
        }
        sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
