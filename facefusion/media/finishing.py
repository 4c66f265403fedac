"""How every result comes to its name: what is said in it, the last that is written, the check, and the move."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from facefusion.core.errors import SigningError
from facefusion.core.stop import StopToken
from facefusion.core.storage import refusal, remove
from facefusion.media.output import OTHER_OUTPUT, final_name, move_into_place, settle

UNSIGNED = ".unsigned.part"
"""What is added to the name of a result that is whole, and could not be signed. No later run takes it for abandoned."""


LONGEST_NAME = 255
"""Bytes of a name, on file systems in use."""


@dataclass(frozen=True, slots=True)
class Completed:
    """A result that nothing more is written into."""

    beside: Mapping[Path, Path | None] = field(default_factory=dict)
    """Files that lie beside it: the final name of each, and the file that takes it; none where an older one has to go,
    since it belongs to what lay there before."""
    notices: tuple[str, ...] = ()
    """What the user should know."""


class Finishing(Protocol):
    """What a result says of itself, and the last that is written into it."""

    def tags(self) -> Mapping[str, str]:
        """Tags of the whole file, for containers of videos that hold any name: they go before those of the target."""

    def packet(self, xmp: bytes) -> bytes:
        """The XMP packet of an image, from that of its target; either may be empty."""

    def copies(self, path: Path) -> int:
        """How often a file of that final name lies on the disk while it is completed: 2 where it is written anew."""

    def complete(self, part: Path, path: Path, stop: StopToken) -> Completed:
        """Write the last into a file that is closed.

        Args:
            part: the file; it is replaced as one, or left as it was.
            path: its final name.
            stop: asked now and then.

        Raises:
            SigningError: it cannot be signed, and is worth keeping all the same.
            OutputError: it cannot be written.
            Stopped: a stop was requested.
        """


class AsWritten:
    """Adds nothing."""

    def tags(self) -> Mapping[str, str]:
        """None."""
        return {}

    def packet(self, xmp: bytes) -> bytes:
        """That of the target."""
        return xmp

    def copies(self, path: Path) -> int:
        """Once."""
        return 1

    def complete(self, part: Path, path: Path, stop: StopToken) -> Completed:
        """Nothing to do."""
        return Completed()


AS_WRITTEN = AsWritten()


def finish_into_place(
    part: Path,
    path: Path,
    finishing: Finishing,
    check: Callable[[], None],
    stop: StopToken,
    remedy: str = OTHER_OUTPUT,
) -> tuple[str, ...]:
    """Complete a file, check it as it is then, and move it to its name; what lies beside it follows at once.

    What cannot be signed is checked and kept under a name of its own, and an older result stays where it is.

    Args:
        part: the file, closed.
        path: its final name.
        finishing: completes it.
        check: raises an OutputError where ``part`` is not what it should be.
        stop: asked now and then.
        remedy: what the user can do where nothing can be written there.

    Returns:
        What the user should know.

    Raises:
        SigningError: it was not signed; the message says where it is kept.
        OutputError: it is not whole, or cannot be moved.
        ResourceError: the disk is full.
        Stopped: a stop was requested.
    """
    try:
        completed = finishing.complete(part, path, stop)
    except SigningError as error:
        check()
        raise _kept(part, path, error) from error
    try:
        check()
        # A disk may take long over a video; meanwhile the older result has what lies beside it.
        settle(part, path, remedy)
        _drop(completed.beside, path, remedy)
        move_into_place(part, path, remedy)
        for name, file in completed.beside.items():
            if file is not None:
                move_into_place(file, name, remedy)
    finally:
        for file in completed.beside.values():
            if file is not None:
                file.unlink(missing_ok=True)
    _drop([unsigned_path(path)], path, remedy)
    return completed.notices


def unsigned_path(path: Path) -> Path:
    """Where a result is kept that could not be signed."""
    final = final_name(path)
    name = final.name
    while len(os.fsencode(name + UNSIGNED)) > LONGEST_NAME:
        name = name[:-1]
    return final.with_name(name + UNSIGNED)


def _kept(part: Path, path: Path, error: SigningError) -> SigningError:
    """What to raise once an unsigned result is kept."""
    kept = unsigned_path(path)
    move_into_place(part, kept)
    advice = f"{error.remedy} " if error.remedy else ""
    return SigningError(
        error.fault,
        f"The result is whole, and is kept unsigned as {kept}. {advice}"
        "Then run the same again, which works on no frame of a video once more.",
        kept=kept,
    )


def _drop(files: Iterable[Path], path: Path, remedy: str) -> None:
    """Remove files beside a result that do not belong to it.

    Raises:
        OutputError: one cannot be removed.
    """
    for file in files:
        if os.path.lexists(file):
            try:
                with contextlib.suppress(FileNotFoundError):
                    remove(file)
            except OSError as error:
                raise refusal(error, file, f"It belongs to an older {path.name}: remove it. {remedy}") from error
