"""How much the program says, in which form and where to: in part before the settings are known, in full with them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from facefusion.config.request import named_output
from facefusion.config.schema import flag_of
from facefusion.config.settings import MiscSettings, PathsSettings
from facefusion.config.sources import ENVIRONMENT_PREFIX
from facefusion.config.state import Snapshot
from facefusion.core.errors import UsageError
from facefusion.faces.settings import FaceSelectorSettings
from facefusion.jobs.folder import keeps
from facefusion.observability.log import set_up_logging
from facefusion.observability.records import LEVELS
from facefusion.observability.settings import JSON, LogSettings
from facefusion.observability.terminal import Terminal


def set_up_early(words: Sequence[str], environment: Mapping[str, str], terminal: Terminal) -> None:
    """Say what is wrong with a command line or an ini file in the form, and no louder, than the user asks for.

    A value that is none is not heeded here; what reads the settings refuses it.
    """
    level = _asked("log_level", words, environment).lower()
    form = _asked("log_format", words, environment).lower()
    set_up_logging(level if level in LEVELS else "info", terminal, json=form == JSON)


def set_up(snapshot: Snapshot, terminal: Terminal) -> None:
    """Say what the settings ask for.

    Raises:
        OutputError: the log file cannot be written.
        ResourceError: the disk is full.
        UsageError: the log file is one of the files to work on, or among jobs, or something else than a log is there.
    """
    settings = snapshot.get(LogSettings)
    if settings.log_path is not None:
        _check_log_path(settings.log_path, snapshot)
    level = snapshot.get(MiscSettings).log_level
    set_up_logging(level, terminal, json=settings.log_format == JSON, path=settings.log_path)


def _asked(name: str, words: Sequence[str], environment: Mapping[str, str]) -> str:
    flag = flag_of(name)
    found = environment.get(f"{ENVIRONMENT_PREFIX}{name.upper()}", "")
    for word, following in pairwise([*words, ""]):
        if word == flag:
            found = following
        elif word.startswith(f"{flag}="):
            found = word.removeprefix(f"{flag}=")
    return found


def check_apart_from_log(outputs: Iterable[Path], snapshot: Snapshot) -> None:
    """Make sure that no result takes the place of the log.

    Raises:
        UsageError: one would.
    """
    path = snapshot.get(LogSettings).log_path
    if path is not None:
        real = os.path.realpath(path)
        if any(os.path.realpath(output) == real for output in outputs):
            raise UsageError(f"--log-path {path} is a file that the run works with", "Name another file.")


def _check_log_path(path: Path, snapshot: Snapshot) -> None:
    """Nobody wants lines added to a picture, or to a job."""
    paths, report = snapshot.get(PathsSettings), snapshot.get(MiscSettings).report
    mapped = (path for _, path in snapshot.get(FaceSelectorSettings).mapping.files)
    others = [*paths.source_paths, *mapped, paths.target_path, paths.output_path, paths.config_path, report]
    if paths.output_path is not None and paths.target_path is not None:
        others.append(named_output(paths.output_path, paths.target_path))
    check_apart_from_log((other for other in others if other is not None), snapshot)
    if keeps(paths.jobs_path, path):
        raise UsageError(f"--log-path {path} would lie among the jobs", "Name another file.")
