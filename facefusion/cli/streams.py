"""The output stream, on which only results go."""

from __future__ import annotations

import os
import sys
from typing import TextIO


class Output:
    """Writes to the output stream; a reader that went away (a closed pipe) is no failure of the work."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        """Write text as it stands, at once."""
        try:
            self._stream.write(text)
            self._stream.flush()
        except BrokenPipeError:
            _detach(self._stream)


def _detach(stream: TextIO) -> None:
    """Let the interpreter's last flush go nowhere, where it would fail and change the exit code."""
    if stream is sys.stdout:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
