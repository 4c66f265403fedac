"""What it means when the system refuses even to look at a file that the user named."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from facefusion.core.errors import FaceFusionError


@contextmanager
def looking(kind: type[FaceFusionError], subject: str, remedy: str) -> Iterator[None]:
    """Name the file on which a look fails: one in a folder that may not be searched, a name too long, a failing disk.

    Python asks the system quietly only where a file is not there; ``Path.is_dir()`` and its like raise all else.

    Args:
        kind: of the error to raise.
        subject: what is looked at, for the message, such as ``target a.jpg``.
        remedy: what the user can do, such as the option that names another file.

    Raises:
        FaceFusionError: of that kind, with the system's reason.
    """
    try:
        yield
    except OSError as error:
        raise kind(f"{subject}: {error.strerror or error}", remedy) from error
    except ValueError as error:  # of what no file system has: null characters, halves of surrogate pairs
        raise kind(f"{subject}: no file can have that name", remedy) from error
