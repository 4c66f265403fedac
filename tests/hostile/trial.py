"""Reads files that mean harm, one after the other, in a process that may take a little memory and time only."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from facefusion.core.errors import FaceFusionError
from facefusion.core.formats import MediaKind
from facefusion.media.animation.read import AnimationReader
from facefusion.media.image import read_image_with_details
from facefusion.media.probe import probe
from facefusion.media.reader import VideoReader

ROOT = Path(__file__).parents[2]
MOST_MEMORY = 2 << 30
"""Bytes that such a process may take."""
MOST_SECONDS = 60
"""Of the processor, for all files together."""
FRAMES = 3
"""Of a video or an animation that are read."""


@dataclass(frozen=True)
class Outcome:
    """What came of one file."""

    said: str
    """The error, after its type; or that it was read."""
    grown: int
    """By how many bytes the process was larger than before, at most."""


def tried(kind: str, paths: Sequence[Path]) -> dict[str, Outcome]:
    """What comes of each file, by its name. A process that ends before the last one fails the test."""
    command = [sys.executable, "-m", __name__, kind, *(str(path) for path in paths)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, f"after {outcomes[-1:]}: {done.returncode} {done.stderr[-2000:]}"
    return {name: Outcome(said, grown) for name, said, grown in outcomes}


def read_media(path: Path) -> None:
    """Look at a file as the program does, and read the first of it."""
    info = probe(path)
    if info.kind is MediaKind.IMAGE:
        read_image_with_details(path)
        return
    reader = AnimationReader(path, end=FRAMES) if info.animation else VideoReader(info, end=FRAMES)
    with reader as frames:
        for _ in frames:
            pass


def load_graph(path: Path) -> None:
    """Look at a graph as its import does, load it and run it."""
    from facefusion.catalogue.intake import check_file
    from facefusion.inference.providers.cpu import CPU, CpuOptions
    from facefusion.inference.session import LoadRequest, ModelFile, OrtSession

    check_file(path)
    request = LoadRequest(ModelFile(path.stem, path), ((CPU, CpuOptions()),))
    OrtSession(request).run({"x": np.zeros(4, np.float32)})


def tell_marks(path: Path) -> None:
    """Tell the marks of a file, as ``detect`` does."""
    from facefusion.provenance.findings import look_at

    look_at(path, None)


def take_upload(path: Path) -> None:
    """Look into a file as the API does with what strangers send."""
    from facefusion.service.look import look_here

    look_here(path)


KINDS: dict[str, Callable[[Path], None]] = {
    "media": read_media,
    "graph": load_graph,
    "marks": tell_marks,
    "upload": take_upload,
}


def _memory(name: str) -> int:
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status[name].split()[0]) << 10


def main(kind: str, paths: Sequence[str]) -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for path in map(Path, paths):
        Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here on: proc(5)
        before = _memory("VmRSS")
        try:
            KINDS[kind](path)
            said = "read"
        except FaceFusionError as error:
            said = f"{type(error).__name__}: {error}"
        except MemoryError:
            said = "MemoryError"  # for which the program has words wherever it comes from
        sys.stdout.write(f"{json.dumps([path.name, said.replace(f'{path.parent}/', ''), _memory('VmHWM') - before])}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
