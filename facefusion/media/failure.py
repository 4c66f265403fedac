"""What FFmpeg's errors mean to the user."""

from __future__ import annotations

import errno
from pathlib import Path

import av

from facefusion.core.errors import FaceFusionError, OutputError, ResourceError
from facefusion.core.storage import is_of_the_disk, refusal
from facefusion.media.codecs import full_card, is_nvenc


def explained(error: Exception, path: Path, encoder: str) -> FaceFusionError:
    """The error to raise where FFmpeg cannot write.

    Args:
        error: FFmpeg's, or the system's.
        path: what was written to.
        encoder: what was written with.
    """
    if isinstance(error, OSError) and is_of_the_disk(error):
        return refusal(error, path, "Choose another folder.")
    if is_nvenc(encoder) and isinstance(error, av.error.ExternalError | av.error.MemoryError):
        return full_card(encoder, f"{path}: {error.strerror}")
    if getattr(error, "errno", None) == errno.ENOMEM:
        return ResourceError(
            f"{path}: there is no memory left for {encoder}", "Raise --system-memory-limit, or close other programs."
        )
    reason = getattr(error, "strerror", None) or error
    return OutputError(
        f"{path} cannot be written with {encoder} ({reason})", "Choose another --output-video-encoder or container."
    )
