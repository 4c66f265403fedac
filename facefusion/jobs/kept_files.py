"""Removing the files in which steps kept their results, with the manifests beside them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from facefusion.jobs.model import JobStep
from facefusion.provenance.records import sidecar_of


def remove_kept(steps: Iterable[JobStep]) -> list[str]:
    """Remove the files that steps made for themselves, whose results nothing needs any more.

    Returns:
        What could not be removed, and why: a sentence each.
    """
    notices = []
    for file in (Path(step.kept) for step in steps if step.kept):
        try:
            file.unlink(missing_ok=True)
            sidecar_of(file).unlink(missing_ok=True)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            notices.append(f"{file} is no longer needed, and stays: {reason}.")
    return notices
