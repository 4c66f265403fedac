"""Running this Python once more."""

from __future__ import annotations

import sys


def interpreter(*words: str) -> list[str]:
    """The command that runs this interpreter with some arguments.

    Modules do not come from the folder that we work in, as they would by ``-m`` and ``-c`` alone: what lies there may
    be anybody's, and a file with the name of a module would be run.
    """
    return [sys.executable, "-P", *words]
