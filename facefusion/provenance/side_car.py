"""The place of a manifest beside its file."""

from __future__ import annotations

import errno
import re
from dataclasses import replace
from pathlib import Path

from facefusion.core.errors import UsageError
from facefusion.core.own_file import OwnFile
from facefusion.core.storage import refusal
from facefusion.media.output import OTHER_OUTPUT, final_name
from facefusion.provenance.records import sidecar_of
from facefusion.provenance.signing.formats import media_type_inside

SIDE_CAR = OwnFile("a C2PA manifest", re.compile(rb"....jumb", re.DOTALL), "Move it away.")
"""A manifest store is a JUMBF superbox (C2PA 2.1, 11.1; ISO 19566-5): a length, and its type."""


def check_side_car(output: Path, remedy: str = OTHER_OUTPUT, *, is_signed: bool = True) -> None:
    """Make sure that nothing lies where a result's manifest would, but an older one, which goes with the older result.

    Args:
        output: the result.
        remedy: what the user can do where it cannot be made as it is asked for.
        is_signed: whether the result is to have a manifest, inside or beside.

    Raises:
        UsageError: something else lies there.
        OutputError: the system does not let us look, or has no room for the name of one that has to be made.
    """
    side = sidecar_of(final_name(output))
    expected = replace(SIDE_CAR, remedy=f"{SIDE_CAR.remedy} {remedy}")
    try:
        expected.check(side)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG and not (is_signed and media_type_inside(output) is None):
            return  # nothing can lie there, and nothing has to
        raise refusal(error, side, remedy) from error
    if side.is_dir():
        raise UsageError(f"{side} is a folder, where the manifest of {output.name} would lie", expected.remedy)
