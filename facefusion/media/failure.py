"""What FFmpeg's errors mean to the user."""

from __future__ import annotations

import errno
from pathlib import Path

from facefusion.core.errors import FaceFusionError, OutputError, ResourceError


def explained(error: Exception, path: Path, encoder: str) -> FaceFusionError:
    """The error to raise where FFmpeg cannot write.

    Args:
        error: FFmpeg's, or the system's.
        path: what was written to.
        encoder: what was written with.
    """
    number = getattr(error, "errno", None)
    if number in (errno.ENOSPC, errno.EDQUOT):
        return ResourceError(f"{path}: the disk is full", "Free some space, or choose another folder.")
    if number == errno.ENOMEM:
        return ResourceError(
            f"{path}: there is no memory left for {encoder}", "Raise --system-memory-limit, or close other programs."
        )
    reason = getattr(error, "strerror", None) or error
    return OutputError(
        f"{path} cannot be written with {encoder} ({reason})", "Choose another --output-video-encoder or container."
    )
