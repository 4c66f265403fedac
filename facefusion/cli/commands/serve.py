"""Answers requests over HTTP until it is stopped."""

from __future__ import annotations

import os

from facefusion.cli.command import Context
from facefusion.cli.service_packages import service_packages


def execute(context: Context) -> int:
    """Serve the API. A stop is how it ends, and no failure.

    Raises:
        SetupError: packages of the service are missing, or it cannot begin as it is set up.
    """
    with service_packages("serving, which run without --target-path and --output-path does too,"):
        from facefusion.service.server import serve  # noqa: PLC0415 - brings those packages in

        serve(context.state.snapshot, os.environ, context.application, context.terminal.line, context.stop)
    return 0
