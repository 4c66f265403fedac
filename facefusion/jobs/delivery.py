"""Making an output of the results of its steps."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from facefusion.core.stop import StopToken
from facefusion.core.storage import refusal
from facefusion.media.output import move_into_place, part_path

REMEDY = "Then go on with job-retry."

Join = Callable[[Sequence[Path], Path, StopToken], tuple[str, ...]]
"""Makes a video that shows others one after the other, at a path where nothing or an older file lies, and returns what
the user should know of it.

Raises:
    FaceFusionError: it cannot be made; what lay there before is as it was.
    Stopped: a stop was requested; likewise.
"""


def deliver(results: Sequence[Path], output: Path, join: Join, stop: StopToken, *, apart: bool) -> tuple[str, ...]:
    """Put the output in its place, whole. The results stay where they are, so that it can be done once more.

    Args:
        results: one file, or several videos to be joined.
        output: what to make; an older file is replaced.
        join: makes one video of several.
        stop: asked while videos are joined.
        apart: whether the one result is needed further on, so that the output must not share its content with it.

    Returns:
        What the user should know, a sentence each.

    Raises:
        OutputError: it cannot be written.
        ResourceError: the disk is full.
        FaceFusionError: the videos cannot be joined.
        Stopped: a stop was requested.
    """
    if len(results) > 1:
        return join(results, output, stop)
    part = part_path(output, REMEDY)
    try:
        _duplicate(results[0], part, apart=apart)
        move_into_place(part, output, REMEDY)
    except OSError as error:
        raise refusal(error, output, REMEDY) from error
    finally:
        # Of two names of one file none goes when one is given the other's place.
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
    return ()


def _duplicate(file: Path, copy: Path, *, apart: bool) -> None:
    if not apart:
        with contextlib.suppress(OSError):  # a file system without links
            os.link(file, copy)
            return
    shutil.copyfile(file, copy)
