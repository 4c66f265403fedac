"""Removing temporary files that nobody needs any more."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from facefusion.app.paths import graphs_folder, model_folders
from facefusion.catalogue.fetch import remove_leftovers
from facefusion.config.settings import CleanSettings, PathsSettings
from facefusion.config.state import Snapshot
from facefusion.core.errors import OutputError
from facefusion.core.storage import Removed, remove
from facefusion.inference.kept import remove_unused
from facefusion.media.output import abandoned
from facefusion.pipeline.left_folders import remove_stale
from facefusion.pipeline.work_root import work_root

SECONDS_PER_HOUR = 3600


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What a clean-up did."""

    removed: tuple[Removed, ...]
    resumable: tuple[Path, ...]
    """Work folders that were left for a run that goes on from them."""


def clean(snapshot: Snapshot) -> Cleaned:
    """Remove stale work folders, unfinished results beside the output, what fetching of models left, and old graphs.

    What a process is using stays, and so does, unless the settings say otherwise, what a run could go on from.

    Raises:
        OutputError: a folder cannot be read, or something in it cannot be removed.
        ResourceError: another process hangs.
    """
    settings, paths = snapshot.get(CleanSettings), snapshot.get(PathsSettings)
    max_age = settings.max_age_hours * SECONDS_PER_HOUR
    try:
        removed, kept = remove_stale(work_root(paths.temp_path), max_age, resumable=settings.resumable)
        if paths.output_path is not None:
            removed += _remove_unfinished(paths.output_path)
        removed += remove_leftovers(model_folders(paths.models_path)[0], max_age)
        removed += remove_unused(graphs_folder(), max_age)
    except OSError as error:
        raise OutputError(
            f"{error.filename or 'a temporary file'} cannot be read or removed ({error.strerror})",
            "Change its permissions.",
        ) from error
    return Cleaned(tuple(removed), tuple(kept))


def _remove_unfinished(output: Path) -> list[Removed]:
    """Remove what killed runs left beside an output, or in a folder of outputs; none need be there.

    Raises:
        OSError: the folder cannot be read, or a file cannot be removed.
    """
    folder = output if output.is_dir() else output.resolve().parent
    removed = []
    with contextlib.suppress(FileNotFoundError):
        for path in abandoned(folder):
            with contextlib.suppress(FileNotFoundError):  # another process may be at it too
                removed.append(remove(path))
    return removed
