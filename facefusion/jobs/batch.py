"""The steps of a batch: every source with every target, all checked before the first begins."""

from __future__ import annotations

import contextlib
import glob
import os
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from facefusion.config.request import check_output_kind, placed_output
from facefusion.config.settings import PatternsSettings
from facefusion.core.access import looking
from facefusion.core.errors import InputError, MediaError, UsageError
from facefusion.core.formats import MediaKind, can_hold, is_moving_image, kind_of
from facefusion.core.wording import shown
from facefusion.jobs.output_template import OutputTemplate
from facefusion.jobs.patterns import Found, find_files
from facefusion.media.probe import probe

SOURCE, TARGET = "source", "target"
KINDS = {SOURCE: (MediaKind.IMAGE, MediaKind.AUDIO), TARGET: (MediaKind.IMAGE, MediaKind.VIDEO)}
"""What each may be."""
OUTPUT_FLAG = "--output-pattern"
NAMES_SHOWN = 5
"""A list of files longer than this is cut in a message."""


@dataclass(frozen=True, slots=True)
class BatchStep:
    """One file to make."""

    source: Path | None
    target: Path
    output: Path

    def __str__(self) -> str:
        return f"{self.target} with {self.source}" if self.source is not None else str(self.target)


@dataclass(frozen=True, slots=True)
class Batch:
    """What a batch makes, in this order."""

    steps: tuple[BatchStep, ...]
    notices: tuple[str, ...]
    """What the user should know of the files that were found."""


def plan_batch(patterns: PatternsSettings) -> Batch:
    """The steps that the patterns mean: for each source one for each target, or one for each target without sources.

    That a file can be read is for its step to find out: one that cannot does not keep the others from being made.

    Raises:
        UsageError: a pattern is missing or not understood, two steps would write one file, an output would overwrite
            a source or a target, or its extension names no format for the target.
        InputError: a pattern matches nothing that can be used.
        OutputError: the folder of an output is not there or cannot be written to.
    """
    target_pattern, output_pattern = _required(patterns)
    template = OutputTemplate(output_pattern, has_sources=patterns.source_pattern is not None)
    found = {TARGET: _found(TARGET, target_pattern)}
    sources: Sequence[Path | None] = (None,)
    if patterns.source_pattern is not None:
        found[SOURCE] = _found(SOURCE, patterns.source_pattern)
        sources = found[SOURCE].files
    steps = tuple(
        BatchStep(source, target, _output(template.path(index, source, target), target))
        for index, (source, target) in enumerate(product(sources, found[TARGET].files))
    )
    _check_inputs_stay(steps)
    _check_told_apart(steps)
    return Batch(steps, tuple(_notices(found)))


def _required(patterns: PatternsSettings) -> tuple[str, str]:
    if patterns.target_pattern is None:
        raise UsageError(
            "no targets are given", "Name the images and videos to change with --target-pattern, such as 'clips/*.mp4'."
        )
    if patterns.output_pattern is None:
        raise UsageError(
            "no names for the results are given",
            f"Give them with {OUTPUT_FLAG}, such as 'results/{{target_name}}{{target_extension}}'.",
        )
    return patterns.target_pattern, patterns.output_pattern


def _found(role: str, pattern: str) -> Found:
    flag = f"--{role}-pattern"
    check_path = f"Check the path given with {flag}."
    with looking(InputError, f"{role} {shown(pattern)}", check_path):
        found = find_files(pattern, KINDS[role])
    if found.files:
        return found
    if not found.others and not glob.has_magic(pattern) and not os.path.isdir(pattern):  # noqa: PTH112 - looked at above
        raise InputError(f"{role} {shown(pattern)}: there is no such file or folder", check_path)
    others = f", only {_listed(found.others)}" if found.others else ""
    hint = " A [ that is no wildcard is written [[]." if "[" in pattern and not found.others else ""
    raise InputError(
        f"the {role} pattern {shown(pattern)} matches no {_nouns(role)} file{others}", f"Check {flag}.{hint}"
    )


def _nouns(role: str) -> str:
    return " or ".join(kind.value for kind in KINDS[role])


def _output(output: Path, target: Path) -> Path:
    """The file to write for a target, checked by itself."""
    output = placed_output(target, output, (), OUTPUT_FLAG)
    check_output_kind(target, output, _kind(target, output))
    return output


def _kind(target: Path, output: Path) -> MediaKind:
    """What a target holds; its name says so but where it may be an animation and only one of the two can be written."""
    kind = MediaKind.VIDEO if kind_of(target) is MediaKind.VIDEO else MediaKind.IMAGE
    if is_moving_image(target) and not all(can_hold(output, kind) for kind in KINDS[TARGET]):
        with contextlib.suppress(MediaError):  # which its step will meet too
            return probe(target).kind
    return kind


def _check_inputs_stay(steps: Iterable[BatchStep]) -> None:
    """Raise where a result would overwrite what a step reads."""
    named = [(step.target, f"target {step.target}") for step in steps]
    named += [(step.source, f"source {step.source}") for step in steps if step.source is not None]
    read = {_identity(path): name for path, name in named}
    for step in steps:
        identity = _identity(step.output)
        name = None if identity is None else read.get(identity)
        if name is not None:
            remedy = f"It would be overwritten; choose another {OUTPUT_FLAG}."
            raise UsageError(f"output {step.output} is the {name} itself", remedy)


def _check_told_apart(steps: Iterable[BatchStep]) -> None:
    """Raise where two steps would write one file."""
    first: dict[str, BatchStep] = {}
    for step in steps:
        other = first.setdefault(_name_on_disk(step.output), step)
        if other is not step:
            raise UsageError(
                f"output {step.output} would be written twice, for {other} and for {step}",
                f"Put {{index}} or the names into {OUTPUT_FLAG}.",
            )


def _identity(path: Path) -> tuple[int, int] | None:
    """What is the same for all names of a file; none where it is not there, or cannot be looked at."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _name_on_disk(path: Path) -> str:
    """A text that is the same for all names of one file that is yet to be written."""
    name = str(path.parent.resolve() / path.name)
    if sys.platform in ("win32", "darwin"):  # where case does not tell names apart
        return unicodedata.normalize("NFC", name).casefold()
    return name


def _notices(found: Mapping[str, Found]) -> Iterator[str]:
    for role, one in found.items():
        if one.others:
            listed = _listed(one.others)
            yield f"Passed over what the {role} pattern matches and is no {_nouns(role)} file: {listed}."


def _listed(paths: Sequence[Path]) -> str:
    shown = ", ".join(str(path) for path in paths[:NAMES_SHOWN])
    more = len(paths) - NAMES_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown
