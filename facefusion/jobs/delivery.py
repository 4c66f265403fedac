"""Making an output of the results of its steps."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from facefusion.core.formats import is_moving_image
from facefusion.core.stop import StopToken
from facefusion.core.storage import refusal
from facefusion.media.finishing import AsWritten, Completed, finish_into_place
from facefusion.media.output import final_name, part_path
from facefusion.provenance.records import sidecar_of
from facefusion.provenance.side_car import check_side_car

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
        results: one file, or several to be joined, if all of them move; of pictures the last one is taken.
        output: what to make; an older file is replaced.
        join: makes one video of several.
        stop: asked while videos are joined.
        apart: whether the one result is needed further on, so that the output must not share its content with it.

    Returns:
        What the user should know, a sentence each.

    Raises:
        UsageError: something else lies where its manifest would.
        OutputError: it cannot be written.
        ResourceError: the disk is full.
        MediaError: a result cannot be read.
        FaceFusionError: the videos cannot be joined.
        Stopped: a stop was requested.
    """
    part = part_path(output, REMEDY)
    check_side_car(output, REMEDY)
    try:
        moving = [_moves(result) for result in results] if len(results) > 1 else [False]
        if all(moving):
            return join(results, output, stop)
        _duplicate(results[-1], part, apart=apart)
        finish_into_place(part, output, _WithManifest(results[-1]), _nothing_wrong, stop, REMEDY)
    except OSError as error:
        raise refusal(error, output, REMEDY) from error
    finally:
        # Of two names of one file none goes when one is given the other's place.
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
    return (f"Not all parts of {output} move, so the last one is taken.",) if any(moving) else ()


class _WithManifest(AsWritten):
    """Takes along the manifest that lies beside a result; one in the file comes with it."""

    def __init__(self, result: Path) -> None:
        self._manifest = sidecar_of(result)

    def complete(self, part: Path, path: Path, stop: StopToken) -> Completed:
        beside = sidecar_of(final_name(path, REMEDY))
        if not self._manifest.is_file():
            return Completed({beside: None})
        copy = sidecar_of(part)
        _duplicate(self._manifest, copy, apart=True)
        return Completed({beside: copy})


def _nothing_wrong() -> None:
    """Of a file that was checked when it was made."""


def _moves(result: Path) -> bool:
    """Whether a result is a video, or an animated image."""
    if not is_moving_image(result):
        return True
    from facefusion.media.animation import animation_facts  # noqa: PLC0415 - brings PyAV in, which few jobs need here

    return animation_facts(result) is not None


def _duplicate(file: Path, copy: Path, *, apart: bool) -> None:
    if not apart:
        with contextlib.suppress(OSError):  # a file system without links
            os.link(file, copy)
            return
    shutil.copyfile(file, copy)
