"""Removing the files in which steps kept their results."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from facefusion.jobs.model import JobStep
from facefusion.jobs.outputs import Outputs, identity


def remove_kept(steps: Iterable[JobStep], outputs: Outputs) -> list[str]:
    """Remove the files that steps made for themselves; outputs, and what others made, stay.

    Args:
        steps: of which nothing needs the results any more.
        outputs: of the job, none of which is removed whatever its name.

    Returns:
        What could not be removed, and why: a sentence each.
    """
    files = [Path(step.kept) for step in steps if step.kept]
    wanted = {identity(output.path) for output in outputs.outputs} if files else set()
    notices = []
    for file in files:
        try:
            if identity(file) not in wanted:
                file.unlink(missing_ok=True)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            notices.append(f"{file} is no longer needed, and stays: {reason}.")
    return notices
