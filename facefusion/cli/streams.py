"""The process's own streams: the output stream, on which only results go, and what is done where one is closed."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from facefusion.core.errors import OutputError

STANDARD_DESCRIPTORS = (0, 1, 2)


class Output:
    """Writes to the output stream; a reader that went away (a closed pipe) is no failure of the work.

    Args:
        stream: where to write; none where the process was started without one.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        """Write text as it stands, at once. A path's bytes come out as they are on the disk, whatever the encoding.

        Raises:
            OutputError: the stream takes no more, as a file on a full disk.
        """
        if self._stream is None:
            return
        try:
            self._put(self._stream, text)
            self._stream.flush()
        except BrokenPipeError:
            _detach(self._stream)
        except OSError as error:
            _detach(self._stream)
            raise OutputError(
                f"the output stream cannot be written to ({error.strerror})", "Send it to another file."
            ) from error

    @staticmethod
    def _put(stream: TextIO, text: str) -> None:
        try:
            stream.write(text)
        except UnicodeEncodeError:
            stream.flush()
            stream.buffer.write(os.fsencode(text))


def claim_standard_descriptors() -> None:
    """Open those of the descriptors 0 to 2 that the process was started without.

    Else the next file opened takes the number, and what a library says on its error stream ends up in that file.
    """
    for descriptor in STANDARD_DESCRIPTORS:
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _detach(stream: TextIO) -> None:
    """Let the interpreter's last flush go nowhere, where it would fail and change the exit code."""
    if stream is sys.stdout:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
