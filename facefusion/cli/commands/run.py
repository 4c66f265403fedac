"""Processes at once where target and output are named; serves where neither is."""

from __future__ import annotations

from facefusion.cli.command import Context
from facefusion.cli.commands import headless_run
from facefusion.config.settings import PathsSettings
from facefusion.core.errors import SetupError


def execute(context: Context) -> int:
    """Process the request, or start the server.

    Raises:
        SetupError: the server is asked for, and is not there.
    """
    paths = context.state.snapshot.get(PathsSettings)
    if paths.target_path is None and paths.output_path is None:
        raise SetupError(
            "run without --target-path and --output-path starts the server, which needs the service requirements, and "
            "this version does not have them yet",
            "Give both options to process a file at once.",
        )
    return headless_run.execute(context)
