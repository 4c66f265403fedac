"""The files that a run is about, where they are named: whether it could begin with them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from facefusion.config.request import checked_output
from facefusion.config.settings import PathsSettings
from facefusion.core.errors import FaceFusionError
from facefusion.core.formats import MediaKind
from facefusion.doctor.examination import Examination
from facefusion.doctor.finding import Finding, ok
from facefusion.faces.settings import FaceSelectorSettings
from facefusion.media.probe import probe

TOPIC = "request"


def findings(examination: Examination) -> Iterator[Finding]:
    """Look at the files as a run does before it begins."""
    paths = examination.snapshot.get(PathsSettings)
    if paths.target_path is None:
        return
    try:
        if paths.output_path is not None:
            checked_output(paths, examination.snapshot.get(FaceSelectorSettings).mapping.files)
        yield ok(TOPIC, describe(paths.target_path))
    except FaceFusionError as error:
        yield Finding.of_error(TOPIC, error)


def describe(target: Path) -> str:
    """A target in words.

    Raises:
        MediaError: it cannot be read.
    """
    info = probe(target)
    size = f"{info.size.width}x{info.size.height}"
    if info.kind is not MediaKind.VIDEO:
        return f"target {target}: {info.kind.value} of {size}"
    count = "" if info.frame_count is None else f", {info.frame_count} frames"
    return f"target {target}: {info.kind.value} of {size}, {float(info.frame_rate):.5g} frames/s{count}"


def target_lines(paths: PathsSettings) -> int | None:
    """The shorter side of the target in pixels; none where it is no video, not named, or cannot be read."""
    if paths.target_path is None:
        return None
    try:
        info = probe(paths.target_path)
    except FaceFusionError:  # whoever works with it says what is wrong with it
        return None
    return min(info.size) if info.kind is MediaKind.VIDEO else None
