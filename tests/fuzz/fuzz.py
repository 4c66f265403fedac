"""Damages files of every kind, has the program read each, and writes down what it should not have done."""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import random
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from facefusion.app.engine import Engine
from facefusion.catalogue.imported import FOLDER, LIST
from facefusion.cli.main import main as command_line
from facefusion.core import home
from facefusion.core.errors import FaceFusionError
from facefusion.service.look import look_here
from tests.fuzz.damage import damaged
from tests.fuzz.victims import LOOK, Victim, caches, make_victims, marked

MOST_SECONDS = 120
"""After which a case counts as hanging, even on a busy machine."""

MOST_MEMORY = 4 << 30
"""Bytes that the process may take, where the system can be told so. The program's own limit lies below."""

SPOKEN = ("error: ", "warning: ")

TALKATIVE = (".tiff",)
"""Of files on whose faults libtiff speaks by itself."""

FAILED = (1, 2, 3)
"""Exit codes on which an error has to be told."""


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
        self._whole = [victim.data for victim in victims]

    def damaged(self, number: int, seed: int) -> dict[str, object]:
        """A case by its number: what was damaged how, the exit code, and what was said."""
        chance = random.Random(f"{seed} {number}")
        victim = self._victims[number % len(self._victims)]
        way, data = damaged(victim.data, self._whole, chance)
        # Whoever looks at a process that ended finds here what it read last.
        Path("last").write_bytes(data)
        sys.stdout.write(f"{json.dumps({'number': number, 'victim': victim.name, 'way': way})}\n")
        sys.stdout.flush()
        code, said = self.read(victim, data)
        case = {"number": number, "victim": victim.name, "way": way, "code": code, "said": said}
        faults = list(_faults(victim, code, said))
        if faults:
            Path("last").rename(f"broken-{number}-{Path(victim.name).name}")
        return case | {"faults": faults}

    def read(self, victim: Victim, data: bytes) -> tuple[int, str]:
        """Exit code and words of the command, where the file holds such data."""
        for name in ("out", "jobs/queued", "jobs/failed", "jobs/completed"):
            Path(name).mkdir(parents=True, exist_ok=True)
            for path in Path(name).iterdir():
                path.unlink()
        shutil.rmtree(Path("models") / FOLDER, ignore_errors=True)
        (Path("models") / LIST).unlink(missing_ok=True)
        self._put(victim, data)
        faulthandler.dump_traceback_later(MOST_SECONDS, exit=True)
        with error_stream(Path("said.txt")):
            code = _looked(victim) if victim.words[0] == LOOK else command_line(victim.words, self._program)
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


def _looked(victim: Victim) -> int:
    """What the API says of an upload, as a command would say it."""
    try:
        look_here(Path(victim.name))
    except (FaceFusionError, MemoryError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


def _faults(victim: Victim, code: int, said: str) -> Iterator[str]:
    if code not in victim.codes:
        yield f"the exit code is {code}"
    if "This is a defect" in said or "Traceback" in said:
        yield "the program knows no cause"
    if code in FAILED and not any(line.startswith("error: ") for line in said.splitlines()):
        yield "no error is told"
    strange = [line for line in said.splitlines() if not line.startswith(SPOKEN)]
    if strange and not victim.name.endswith(TALKATIVE):
        yield f"these are not the program's words: {strange[:3]}"
    if victim.output is not None and Path(victim.output).exists() != (code == 0):
        yield f"{victim.output} is {'there' if Path(victim.output).exists() else 'not there'}"


def _limit_memory() -> None:
    if sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main(folder: str, models: str, first: str, end: str, seed: str, seconds: str) -> None:
    """Read all victims whole, then damaged ones from ``first`` to ``end``, in a folder that gets ``cases.jsonl``.

    Ends early when ``seconds`` have passed.
    """
    began = time.monotonic()
    _limit_memory()
    os.chdir(folder)
    Path("temp").mkdir(exist_ok=True)
    Path("facefusion.ini").write_text(
        "[paths]\nmodels_path = models\ntemp_path = temp\njobs_path = jobs\n[logging]\nlog_level = warn\n"
        "[memory]\nsystem_memory_limit = 2\n"
    )
    # The program's own folder, in which it keeps its caches, is this one.
    home.PACKAGE_PARENT = Path.cwd()
    Path("facefusion.py").touch()
    victims = make_victims(Path(), Path(models))
    whole = Trial(victims)
    results = []
    for victim in victims:
        code, said = whole.read(victim, victim.data)
        assert code == 0, f"{victim.name}: {code} {said}"
        if victim.output is not None:
            results.append(Path(victim.output).rename(f"made-{Path(victim.name).name}{Path(victim.output).suffix}"))
    trial = Trial([*victims, *caches(Path(".caches")), *marked(results)])
    with Path("cases.jsonl").open("a", encoding="utf-8") as log:
        for number in range(int(first), int(end)):
            log.write(json.dumps(trial.damaged(number, int(seed))) + "\n")
            log.flush()
            if time.monotonic() - began > float(seconds):
                return


if __name__ == "__main__":
    main(*sys.argv[1:])
