"""Which files a pattern means."""

from __future__ import annotations

import glob
import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from facefusion.core.formats import MediaKind, kind_of


@dataclass(frozen=True, slots=True)
class Found:
    """The files that a pattern matches, each by name."""

    files: tuple[Path, ...]
    """Those of the kinds asked for."""
    others: tuple[Path, ...]
    """What is no media of those kinds; folders are not counted."""


def find_files(pattern: str, kinds: Collection[MediaKind]) -> Found:
    """The files that a pattern means, sorted by path.

    Patterns are those of :mod:`glob`: ``*``, ``?``, ``[abc]``, and ``**`` for folders at any depth. Hidden files match
    only a pattern that shows their dot. What is there under the very name of the pattern comes first: a file means
    itself, a folder all that lies in it, and a folder before the first wildcard itself, whatever brackets its name has.

    Args:
        pattern: relative to the working folder, or absolute.
        kinds: what is looked for; a file is what its extension says.
    """
    paths = sorted(dict.fromkeys(Path(name) for name in _matches(pattern)), key=str)
    here = [path for path in paths if not path.is_dir()]
    files = dict.fromkeys(path for path in here if path.is_file() and kind_of(path) in kinds)
    return Found(tuple(files), tuple(path for path in here if path not in files))


def _matches(pattern: str) -> list[str]:
    # Of pathlib, Path.glob takes no absolute pattern, shows hidden files, and follows no links below `**`;
    # Path.exists raises where a name is too long to exist.
    if os.path.isdir(pattern):  # noqa: PTH112
        return glob.glob(str(Path(glob.escape(pattern), "*")))  # noqa: PTH207
    if os.path.lexists(pattern):
        return [pattern]
    return glob.glob(_with_folder_as_it_is(pattern), recursive=True)  # noqa: PTH207


def _with_folder_as_it_is(pattern: str) -> str:
    """The pattern with wildcards escaped in its longest beginning that names a folder."""
    parts = Path(pattern).parts
    for count in range(len(parts) - 1, 0, -1):
        folder = str(Path(*parts[:count]))
        if os.path.isdir(folder):  # noqa: PTH112 - see above
            return str(Path(glob.escape(folder), *parts[count:]))
    return pattern
