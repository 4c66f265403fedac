"""Where a result is written before it takes its final name."""

from __future__ import annotations

import os
from pathlib import Path

from facefusion.core.errors import OutputError


def part_path(path: Path) -> Path:
    """The unfinished file beside ``path``: in the same folder, so that the last move is atomic.

    Raises:
        OutputError: nothing can be written there.
    """
    folder = path.absolute().parent
    if path.is_dir():
        raise OutputError(f"{path} is a folder", "Name a file in it as the output.")
    if not folder.is_dir():
        raise OutputError(f"the output folder {folder} does not exist", "Create it or choose another output path.")
    if not os.access(folder, os.W_OK):
        raise OutputError(f"the output folder {folder} cannot be written to", "Choose another output path.")
    return folder / f".{path.name}.part"


def move_into_place(part: Path, path: Path) -> None:
    """Give a finished, verified file its final name, replacing what lies there.

    Raises:
        OutputError: the name cannot be taken.
    """
    try:
        part.replace(path)
    except OSError as error:
        raise OutputError(f"{path} cannot be replaced ({error.strerror})", "Close programs that use it.") from error
