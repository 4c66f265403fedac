"""The place of a manifest beside its file."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from facefusion.core.errors import UsageError
from facefusion.core.own_file import OwnFile
from facefusion.core.storage import refusal
from facefusion.media.output import OTHER_OUTPUT, final_name
from facefusion.provenance.records import sidecar_of

SIDE_CAR = OwnFile("a C2PA manifest", re.compile(rb"....jumb", re.DOTALL), "Move it away.")
"""A manifest store is a JUMBF superbox (C2PA 2.1, 11.1; ISO 19566-5): a length, and its type."""


def check_side_car(output: Path, remedy: str = OTHER_OUTPUT) -> None:
    """Make sure that nothing lies where a result's manifest would, but an older one, which goes with the older result.

    Args:
        output: the result.
        remedy: what the user can do where it cannot be made as it is asked for.

    Raises:
        UsageError: something else lies there.
        OutputError: the system does not let us look.
    """
    side = sidecar_of(final_name(output))
    expected = replace(SIDE_CAR, remedy=f"{SIDE_CAR.remedy} {remedy}")
    try:
        expected.check(side)
    except OSError as error:
        raise refusal(error, side, remedy) from error
    if side.is_dir():
        raise UsageError(f"{side} is a folder, where the manifest of {output.name} would lie", expected.remedy)
