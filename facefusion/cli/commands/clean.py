"""Removes temporary files that nobody needs any more."""

from __future__ import annotations

from facefusion.cli.command import Context
from facefusion.config.settings import CleanSettings
from facefusion.core.storage import in_units, size_of


def execute(context: Context) -> int:
    """Clean up; what was removed goes to the output stream, one path a line, and what was left to the terminal."""
    cleaned = context.application.clean(context.state.snapshot)
    removed = cleaned.removed
    context.write("".join(f"{one.path}\n" for one in removed))
    total = in_units(sum(one.bytes for one in removed))
    context.terminal.line(f"Removed: {len(removed)}, {total} in all." if removed else "Nothing to remove.")
    # Where those may go too, what is left is too young.
    see = "--max-age-hours" if context.state.snapshot.get(CleanSettings).resumable else "--resumable"
    for path in cleaned.resumable:
        size = in_units(size_of(path))
        context.terminal.line(f"{path} ({size}) is left: the run that it belongs to can go on. See {see}.")
    return 0
