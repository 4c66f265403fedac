"""The folders that a run writes to: whether it may, and what is free."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from facefusion.app.paths import model_folders
from facefusion.config.settings import PathsSettings
from facefusion.core.errors import FaceFusionError
from facefusion.core.home import caches_folder
from facefusion.core.storage import in_units, refusal
from facefusion.doctor.examination import Examination
from facefusion.doctor.finding import Finding, Level, ok, warning
from facefusion.pipeline.work_root import alone, work_root

TOPIC = "folder"

SCARCE = 5_000_000_000
"""Bytes free below which long videos may not fit: ten minutes of 2160p at 25 frames/s and the default quality take
0.7 GB at the least and ten times that as a rule (:mod:`facefusion.media.space`), an hour of 1080p as much."""


def findings(examination: Examination) -> Iterator[Finding]:
    """Write a small file into each folder, and say what is free there."""
    paths = examination.snapshot.get(PathsSettings)
    yield from temporary_findings(paths.temp_path)
    if paths.output_path is not None:
        # Path.is_dir, like Path.exists below, raises where the system does not let us look.
        is_folder = os.path.isdir(paths.output_path)  # noqa: PTH112
        folder = paths.output_path if is_folder else paths.output_path.absolute().parent
        yield from folder_findings("results", folder, "Choose another --output-path.", must_exist=True)
    models = model_folders(paths.models_path)[0]
    yield from folder_findings("models", models, "Choose another with --models-path.", level=Level.WARNING)
    yield from folder_findings("jobs", paths.jobs_path, "Choose another with --jobs-path.", level=Level.WARNING)
    yield from folder_findings("caches", caches_folder(), "Change its permissions.", level=Level.WARNING)


def temporary_findings(temp_path: Path | None) -> Iterator[Finding]:
    """The folder for temporary files, entered and left as a run does it."""
    remedy = "Choose another with --temp-path."
    try:
        root = work_root(temp_path)
        with alone(root):
            try_writing(root, remedy)
            yield from _space("temporary files", root, remedy)
    except FaceFusionError as error:
        yield Finding.of_error(TOPIC, error)
    except OSError as error:
        yield Finding.of_error(TOPIC, refusal(error, temp_path or Path(tempfile.gettempdir()), remedy))


def folder_findings(
    what: str, folder: Path, remedy: str, *, level: Level = Level.FAULT, must_exist: bool = False
) -> Iterator[Finding]:
    """Whether a folder can be written to; one that is not there is made when it is needed, unless it must exist.

    Args:
        what: it is for.
        folder: to look at.
        remedy: where it cannot be written to.
        level: of that.
        must_exist: whether nobody makes it.
    """
    place = folder.absolute() if must_exist else nearest_folder(folder)
    try:
        try_writing(place, remedy)
        yield from _space(what, folder, remedy)
    except FaceFusionError as error:
        yield Finding(level, TOPIC, f"{what}: {error.fault}", error.remedy)


def nearest_folder(path: Path) -> Path:
    """The folder itself, or the nearest one above it that is there."""
    path = path.absolute()
    return next(folder for folder in (path, *path.parents) if os.path.lexists(folder))


def try_writing(folder: Path, remedy: str) -> None:
    """Write a file into a folder, and remove it: permissions alone do not tell, least of all on network drives.

    Raises:
        OutputError: it cannot be written.
        ResourceError: the disk is full.
    """
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"facefusion")
            file.flush()
    except OSError as error:
        raise refusal(error, folder, remedy) from error


def _space(what: str, folder: Path, remedy: str) -> Iterator[Finding]:
    place = nearest_folder(folder)
    try:
        free = shutil.disk_usage(place).free
    except OSError as error:
        raise refusal(error, place, remedy) from error
    text = f"{what}: {folder}, {in_units(free)} free"
    yield ok(TOPIC, text) if free >= SCARCE else warning(TOPIC, text, f"Free some space. {remedy}")
