"""What FFmpeg says beside its error numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import av.logging


@contextmanager
def overheard(lines: list[str]) -> Iterator[None]:
    """Add to ``lines`` the errors that FFmpeg writes on this thread within, in place of writing them anywhere.

    FFmpeg's own threads need Python's lock to say something while this is on, so nothing may be closed within, or by
    another thread meanwhile, that waits for such threads. Opening one codec of a graphics card has none.
    """
    before = av.logging.get_level()
    av.logging.set_level(av.logging.ERROR)
    try:
        with av.logging.Capture(local=True) as records:
            try:
                yield
            finally:
                lines.extend(" ".join(message.split()) for _level, _name, message in records)
    finally:
        av.logging.set_level(before)


def first_of(lines: list[str], error: Exception) -> str:
    """The reason of a failure: the first complaint, or what the error itself says."""
    return lines[0] if lines else str(getattr(error, "strerror", None) or error)
