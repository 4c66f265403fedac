"""Runs rounds of errands in one process, and writes a census after each round, a line of JSON."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import tracemalloc
from itertools import islice
from pathlib import Path

from facefusion.core import home
from tests.soak.census import take_census
from tests.soak.errands import Errand, do, rounds
from tests.soak.program import WatchedProgram


def main(folder: str, count: str, seed: str, every: str, *words: str) -> None:
    """Run so many rounds in a folder.

    Args:
        folder: with the scenery; gets ``censuses.jsonl``.
        count: of rounds.
        seed: of their order.
        every: 1 for all errands, 3 for every third.
        words: ``traced`` to count the memory of Python's objects.
    """
    os.chdir(folder)
    temp = Path("temp")
    temp.mkdir()
    # The program's own folder, in which it keeps its caches, is this one.
    home.PACKAGE_PARENT = Path.cwd()
    Path("facefusion.py").touch()
    program = WatchedProgram()
    runs = 0

    def done(one: Errand) -> None:
        nonlocal runs
        runs += len(one.lines)
        sys.stderr.write(f"{one.name}\n")

    with Path("censuses.jsonl").open("w", encoding="utf-8") as log:
        for number, errands in enumerate(islice(rounds(int(seed), every=int(every)), int(count))):
            do(errands, program, done)
            if number == 0 and "traced" in words:
                tracemalloc.start()
            pool = program.pool
            assert pool is not None
            census = dataclasses.asdict(take_census((temp, Path("out"))))
            counters = pool.counters
            census |= {"runs": runs, "kept": counters.loads - counters.evictions, "loaded": dict(program.loaded)}
            log.write(json.dumps(census) + "\n")
            log.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
