"""What clients are told of a machine: nothing of its folders.

Folders that are known go first, since their names may hold spaces; then whatever else looks like a path of its own.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from facefusion.config.schema import OptionSpec
from facefusion.config.state import Snapshot
from facefusion.core.home import caches_folder, home_folder

PLACE = "a path of the machine's"
REST = r"(?!\w)(?:[/\\][^\s/\\'\",;:()]*[^\s/\\'\",;:().])*"
"""How a path goes on below a folder that is known."""
ABSOLUTE_PATH = re.compile(
    r"""(?<![\w./-])/[^\s/'",;:()]*[^\s/'",;:().](?:/[^\s/'",;:()]*[^\s/'",;:().])*"""
    r"""|\b[A-Za-z]:\\[^\s'",;:()]*[^\s'",;:().]"""
)
"""A path of this machine in a text, such as that of the models in an advice; of one with spaces, what precedes them."""
LEAST_PARTS = 3
"""Of a folder that is somebody's: ``/home`` and ``/mnt`` are on every machine, and say nothing."""


def without_paths(text: str, names: Mapping[Path, str], folders: Iterable[Path] = ()) -> str:
    """A text without paths of this machine.

    Args:
        text: for a client.
        names: what paths stand for to whoever reads it.
        folders: of this machine, with all that lies in them.
    """
    # The longest first: one may lie within another.
    for path in sorted(names, key=_length, reverse=True):
        text = text.replace(str(path), names[path])
    for folder in sorted({*folders, *_own_folders()}, key=_length, reverse=True):
        if len(folder.parts) >= LEAST_PARTS or " " in str(folder):
            text = re.sub(re.escape(str(folder)) + REST, PLACE, text)
    return ABSOLUTE_PATH.sub(PLACE, text)


def folders_of(snapshot: Snapshot) -> tuple[Path, ...]:
    """The folders that settings of a machine name, and those that hold what they name."""
    specs = (spec for spec in snapshot.schema if spec.type.scalar is Path)
    paths = [path.absolute() for spec in specs for path in _paths(snapshot, spec)]
    return tuple(dict.fromkeys(folder for path in paths for folder in (path, *path.parents)))


def _paths(snapshot: Snapshot, spec: OptionSpec) -> Iterable[Path]:
    value = snapshot.value(spec)
    values = value if isinstance(value, tuple) else (value,)
    return [one for one in values if isinstance(one, Path)]


def _own_folders() -> tuple[Path, ...]:
    """Of every process of the program."""
    return home_folder(), caches_folder(), Path.home(), Path.cwd(), Path(tempfile.gettempdir())


def _length(path: Path) -> int:
    return len(str(path))
