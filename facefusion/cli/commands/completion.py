"""Prints the script that completes the command line in a shell."""

from __future__ import annotations

from facefusion.cli.command import Context
from facefusion.cli.completion import completion_script


def execute(context: Context) -> int:
    """Write the script for the shell named to the output stream."""
    (shell,) = context.words
    context.write(completion_script(shell, context.state.snapshot.schema))
    return 0
