"""Damages files of every kind, has the program read each, and writes down what it should not have done."""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path

from facefusion.app.engine import Engine
from facefusion.cli.main import main as command_line
from facefusion.core import home
from tests.fuzz.damage import WAYS
from tests.fuzz.victims import Victim, caches, make_victims

MOST_SECONDS = 120
"""After which a case counts as hanging, even on a busy machine."""

SPOKEN = ("error: ", "warning: ")

TALKATIVE = (".tiff",)
"""Of files on whose faults libtiff speaks by itself."""


@contextlib.contextmanager
def error_stream(path: Path) -> Iterator[None]:
    """What is written to the error stream meanwhile, by a library too, goes to a file."""
    sys.stderr.flush()
    before = os.dup(2)
    with path.open("wb") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(before, 2)
        os.close(before)


class Trial:
    """One program that is given damaged files.

    Args:
        victims: the files when they are whole.
    """

    def __init__(self, victims: list[Victim]) -> None:
        self._program = Engine()
        self._victims = victims

    def damaged(self, number: int, seed: int) -> dict[str, object]:
        """A case by its number: what was damaged how, the exit code, and what was said."""
        chance = random.Random(f"{seed} {number}")
        victim, way = self._victims[number % len(self._victims)], chance.choice(WAYS)
        data = way(victim.data, chance)
        sys.stdout.write(f"{number} {victim.name} {way.__name__}\n")
        sys.stdout.flush()
        code, said = self.read(victim, data)
        case = {"number": number, "victim": victim.name, "way": way.__name__, "code": code, "said": said}
        return case | {"faults": list(_faults(victim, code, said))}

    def read(self, victim: Victim, data: bytes) -> tuple[int, str]:
        """Exit code and words of the command, where the file holds such data."""
        for name in ("out", "jobs/queued", "jobs/failed", "jobs/completed"):
            Path(name).mkdir(parents=True, exist_ok=True)
            for path in Path(name).iterdir():
                path.unlink()
        self._put(victim, data)
        faulthandler.dump_traceback_later(MOST_SECONDS, exit=True)
        with error_stream(Path("said.txt")):
            code = command_line(victim.words, self._program)
        faulthandler.cancel_dump_traceback_later()
        self._put(victim, victim.data)
        return code, Path("said.txt").read_text(encoding="utf-8", errors="replace")

    def _put(self, victim: Victim, data: bytes) -> None:
        """Have a file hold that, which nothing has open or mapped."""
        if victim.is_own:
            self._program.release_models()
        path = Path(victim.name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_bytes(data)


def _faults(victim: Victim, code: int, said: str) -> Iterator[str]:
    if code not in ((0,) if victim.is_own else (0, 1, 2, 3)):
        yield f"the exit code is {code}"
    if "This is a defect" in said or "Traceback" in said:
        yield "the program knows no cause"
    if code != 0 and not any(line.startswith("error: ") for line in said.splitlines()):
        yield "no error is told"
    strange = [line for line in said.splitlines() if not line.startswith(SPOKEN)]
    if strange and not victim.name.endswith(TALKATIVE):
        yield f"these are not the program's words: {strange[:3]}"
    if victim.output is not None and Path(victim.output).exists() != (code == 0):
        yield f"{victim.output} is {'there' if Path(victim.output).exists() else 'not there'}"


def main(folder: str, models: str, count: str, seed: str) -> None:
    """Read all victims whole, then so many damaged ones, in a folder that gets ``cases.jsonl``."""
    os.chdir(folder)
    Path("temp").mkdir()
    Path("facefusion.ini").write_text(
        "[paths]\nmodels_path = models\ntemp_path = temp\njobs_path = jobs\n[logging]\nlog_level = warn\n"
    )
    # The program's own folder, in which it keeps its caches, is this one.
    home.PACKAGE_PARENT = Path.cwd()
    Path("facefusion.py").touch()
    victims = make_victims(Path(), Path(models))
    whole = Trial(victims)
    for victim in victims:
        code, said = whole.read(victim, victim.data)
        assert code == 0, f"{victim.name}: {code} {said}"
    trial = Trial([*victims, *caches(Path(".caches"))])
    with Path("cases.jsonl").open("w", encoding="utf-8") as log:
        for number in range(int(count)):
            log.write(json.dumps(trial.damaged(number, int(seed))) + "\n")
            log.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
