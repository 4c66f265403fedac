"""Which files a pattern means."""

from __future__ import annotations

import errno
import glob
import os
import stat
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

    Raises:
        OSError: the system does not let us look at what the pattern names, or into the folder that it begins with.
    """
    # Path.is_dir raises where the system does not let us look.
    paths = sorted(dict.fromkeys(Path(name) for name in _matches(pattern)), key=str)
    here = [path for path in paths if not os.path.isdir(path)]  # noqa: PTH112
    files = dict.fromkeys(path for path in here if kind_of(path) in kinds and _may_be_file(path))
    return Found(tuple(files), tuple(path for path in here if path not in files))


def _may_be_file(path: Path) -> bool:
    """Whether it is a file, or cannot be looked at, why ever: that is for who reads it to say."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return False
    except OSError:
        return True


def _matches(pattern: str) -> list[str]:
    # Of pathlib, Path.glob takes no absolute pattern, shows hidden files, and follows no links below `**`.
    has_wildcards = glob.has_magic(pattern)
    if _is_folder(pattern, has_wildcards=has_wildcards):
        _check_readable(pattern)
        return glob.glob(str(Path(glob.escape(pattern), "*")))  # noqa: PTH207
    if os.path.lexists(pattern):
        return [pattern]
    return glob.glob(_with_folder_as_it_is(pattern), recursive=True) if has_wildcards else []  # noqa: PTH207


def _is_folder(pattern: str, *, has_wildcards: bool) -> bool:
    try:
        return stat.S_ISDIR(os.stat(pattern).st_mode)  # noqa: PTH116 - a Path would lose what a slash at the end says
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG and has_wildcards:  # what it matches may be shorter
            return False
        raise


def _check_readable(folder: str) -> None:
    """Raise where a folder cannot be read, which :mod:`glob` takes for one that holds nothing."""
    os.scandir(folder).close()


def _with_folder_as_it_is(pattern: str) -> str:
    """The pattern with wildcards escaped in its longest beginning that names a folder."""
    parts = Path(pattern).parts
    for count in range(len(parts) - 1, 0, -1):
        folder = str(Path(*parts[:count]))
        if os.path.isdir(folder):  # noqa: PTH112 - see above
            _check_readable(folder)
            return str(Path(glob.escape(folder), *parts[count:]))
    return pattern
