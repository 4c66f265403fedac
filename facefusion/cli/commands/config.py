"""Shows the settings in force."""

from __future__ import annotations

from facefusion.cli.command import Context
from facefusion.config.render import ini_of


def execute(context: Context) -> int:
    """Write every setting as an ini file that would give the same, with the origin of each in a comment."""
    context.write(ini_of(context.state.snapshot))
    return 0
