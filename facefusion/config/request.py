"""Checks the files a user named, before anything slow begins."""

from __future__ import annotations

import os
from pathlib import Path

from facefusion.config.settings import PathsSettings
from facefusion.core.errors import InputError, OutputError, UsageError
from facefusion.core.formats import EXTENSIONS, MediaKind, kind_of


def checked_output(paths: PathsSettings) -> Path:
    """The file to write, with every file of the request checked.

    A folder as output means a file of the target's name in it. The extension of the output may differ from the
    target's as long as both are images, or both videos.

    Raises:
        UsageError: target or output is not given, they are the same file, or the extension does not fit.
        InputError: a source or the target is not there or no file.
        OutputError: the output's folder is not there or cannot be written to.
    """
    target, output = _required(paths)
    for source in paths.source_paths:
        _check_input("source", source, "--source-paths")
    _check_input("target", target, "--target-path")
    if output.is_dir():
        output = output / target.name
    _check_folder(output)
    _check_extension(target, output)
    for name, path in (("target", target), *(("source", source) for source in paths.source_paths)):
        if output.exists() and output.samefile(path):
            raise UsageError(
                f"output {output} is the {name} itself", "It would be overwritten; choose another --output-path."
            )
    return output


def _required(paths: PathsSettings) -> tuple[Path, Path]:
    if paths.target_path is None:
        raise UsageError("no target is given", "Name the image or video to change with --target-path.")
    if paths.output_path is None:
        raise UsageError("no output is given", "Name the file to write with --output-path.")
    return paths.target_path, paths.output_path


def _check_input(name: str, path: Path, flag: str) -> None:
    if path.is_dir():
        raise InputError(f"{name} {path} is a folder", f"Name one file with {flag}.")
    if not path.exists():
        raise InputError(f"{name} {path}: there is no such file", f"Check the path given with {flag}.")
    if not os.access(path, os.R_OK):
        raise InputError(f"{name} {path} may not be read", "Change its permissions.")


def _check_folder(output: Path) -> None:
    folder = output.parent
    if not folder.is_dir():
        problem = "is no folder" if folder.exists() else "does not exist"
        raise OutputError(
            f"output {output}: the folder {folder} {problem}", "Create it first, or choose another --output-path."
        )
    if not os.access(folder, os.W_OK):
        raise OutputError(f"output {output}: the folder {folder} may not be written to", "Change its permissions.")


def _check_extension(target: Path, output: Path) -> None:
    wanted = kind_of(target)
    if wanted is MediaKind.AUDIO:
        raise InputError(f"target {target} is an audio file", "Name an image or a video with --target-path.")
    kinds = (MediaKind.IMAGE, MediaKind.VIDEO) if wanted is None else (wanted,)
    if kind_of(output) in kinds:
        return
    allowed = ", ".join(extension for kind in kinds for extension in EXTENSIONS[kind])
    noun = " or ".join(kind.value for kind in kinds)
    extension = f"the extension {output.suffix}" if output.suffix else "a name without extension"
    raise UsageError(f"output {output}: {extension} does not name a format for the {noun}", f"Use one of {allowed}.")
