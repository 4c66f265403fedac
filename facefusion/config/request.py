"""Checks the files a user named, before anything slow begins."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from facefusion.config.settings import PathsSettings
from facefusion.core.access import looking
from facefusion.core.errors import InputError, OutputError, UsageError
from facefusion.core.formats import EXTENSIONS, MediaKind, can_hold, kind_of, writable
from facefusion.core.storage import check_writable
from facefusion.core.wording import shown

MAP_FLAG = "--face-map, where == stands for = and ++ for + in a name"
"""For messages about files: a sign that was not doubled names another file than was meant."""


def required_target(paths: PathsSettings) -> Path:
    """The target.

    Raises:
        UsageError: none is given.
    """
    if paths.target_path is None:
        raise UsageError("no target is given", "Name the image or video to change with --target-path.")
    return paths.target_path


def required_output(paths: PathsSettings) -> Path:
    """The output, as it was given.

    Raises:
        UsageError: none is given.
    """
    if paths.output_path is None:
        raise UsageError("no output is given", "Name the file to write with --output-path.")
    return paths.output_path


def checked_output(paths: PathsSettings, mapped: Iterable[tuple[str, Path]] = ()) -> Path:
    """The file to write, with every file of the request checked.

    A folder as output means a file of the target's name in it. Whether the output's extension fits what the target
    holds is known when the target was opened: see :func:`check_output_kind`.

    Args:
        paths: target, output and sources.
        mapped: what ``--face-map`` names, each file with its part.

    Raises:
        UsageError: target or output is not given, they are the same file, or the extension names no format.
        InputError: a file that is to be read is not there or no file.
        OutputError: the output's folder is not there or cannot be written to, or something else than a file is there.
    """
    target, output, mapped = required_target(paths), required_output(paths), tuple(mapped)
    sources = tuple(("source", path) for path in paths.source_paths)
    check_inputs(sources, "--source-paths")
    check_inputs(mapped, MAP_FLAG)
    _check_input("target", target, "--target-path")
    return placed_output(target, output, (*sources, *mapped))


def placed_output(target: Path, output: Path, others: Iterable[tuple[str, Path]], flag: str = "--output-path") -> Path:
    """The file to write, where a folder may be named; all of it checked but for the files that are read.

    Args:
        target: what is to be changed.
        output: the file to write, or the folder to write it in.
        others: what must not be overwritten either, each with its name for people.
        flag: how the user gave the output.

    Raises:
        UsageError: the output is the target or another file that is read, or its extension names no format.
        OutputError: its folder is not there or cannot be written to, or something else than a file is there.
    """
    output = named_output(output, target)
    with looking(OutputError, f"output {shown(str(output))}", f"Check the path given with {flag}."):
        _check_folder(output, flag)
        exists = output.exists()
    check_extension(target, output)
    for name, path in (("target", target), *others):
        with looking(InputError, f"{name} {shown(str(path))}", "Check its path."):
            is_same = exists and output.samefile(path)
        if is_same:
            raise UsageError(
                f"output {output} is the {name} itself", f"It would be overwritten; choose another {flag}."
            )
    return output


def named_output(output: Path, target: Path) -> Path:
    """The file that an output means: where it is a folder, one of the target's name in it."""
    # Path.is_dir raises where the system does not let us look.
    return output / target.name if os.path.isdir(output) else output  # noqa: PTH112


def check_output_kind(target: Path, output: Path, kind: MediaKind) -> None:
    """Make sure that the output's extension names a format for what the target really holds.

    The extension of the output may differ from the target's as long as both are images, or both videos.

    Raises:
        UsageError: it does not.
    """
    if not can_hold(output, kind):
        raise UsageError(
            f"output {output}: {_extension(output)} does not name a format for the {kind.value} {target}",
            f"Use one of {', '.join(writable(kind))}.",
        )


def check_inputs(files: Iterable[tuple[str, Path]], flag: str) -> None:
    """Make sure that files can be read.

    Args:
        files: each with its name for people.
        flag: how the user gave them.

    Raises:
        InputError: one is not there, no file, or may not be read.
    """
    for name, path in files:
        _check_input(name, path, flag)


def _check_input(name: str, path: Path, flag: str) -> None:
    with looking(InputError, f"{name} {shown(str(path))}", f"Check the path given with {flag}."):
        if path.is_dir():
            raise InputError(f"{name} {path} is a folder", f"Name one file with {flag}.")
        if not path.exists():
            raise InputError(f"{name} {path}: there is no such file", f"Check the path given with {flag}.")
        if not path.is_file():
            raise InputError(f"{name} {path} is a pipe or a device", f"Name a file on a disk with {flag}.")
    if not os.access(path, os.R_OK):
        raise InputError(f"{name} {path} may not be read", "Change its permissions.")


def _check_folder(output: Path, flag: str) -> None:
    folder = output.parent
    if not folder.is_dir():
        problem = "is no folder" if folder.exists() else "does not exist"
        raise OutputError(
            f"output {shown(str(output))}: the folder {shown(str(folder))} {problem}",
            f"Create it first, or choose another {flag}.",
        )
    check_writable(folder, f"Choose another {flag}, or change its permissions.")
    if output.exists() and not output.is_file():
        raise OutputError(f"output {output} is there and is no file", f"Choose another {flag}.")


def check_extension(target: Path, output: Path) -> None:
    """Make sure that the names of target and output do not rule each other out, whatever the files hold.

    Raises:
        InputError: the target is sound.
        UsageError: the output's extension names no format to write.
    """
    wanted = kind_of(target)
    if wanted is MediaKind.AUDIO:
        raise InputError(f"target {target} is an audio file", "Name an image or a video with --target-path.")
    if kind_of(output) in (MediaKind.IMAGE, MediaKind.VIDEO):
        return
    kinds = (MediaKind.IMAGE, MediaKind.VIDEO) if wanted is None else (wanted,)
    allowed = ", ".join(extension for kind in kinds for extension in EXTENSIONS[kind])
    noun = " or ".join(kind.value for kind in kinds)
    raise UsageError(
        f"output {shown(str(output))}: {_extension(output)} does not name a format for the {noun}",
        f"Use one of {allowed}.",
    )


def _extension(path: Path) -> str:
    return f"the extension {shown(path.suffix)}" if path.suffix else "a name without extension"
