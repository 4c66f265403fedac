"""Files of sound alone, whose sound takes the place of the target's."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av

from facefusion.core.errors import MediaError
from facefusion.media.source import check_file
from facefusion.media.span import Span


@dataclass(frozen=True, slots=True)
class SoundFile:
    """The first sound track of a file."""

    path: Path
    stream: int
    """Index in the file."""
    start: Fraction
    """When it begins, in seconds; that becomes 0 in the result."""

    def span(self, length: Fraction) -> Span:
        """What is heard of it in ``length`` seconds."""
        return Span(self.start, self.start + length, trimmed=True)


def probe_sound(path: Path) -> SoundFile:
    """Look into a file for its first sound track.

    Raises:
        MediaError: missing, a folder, empty, no media, or without sound.
    """
    check_file(path)
    try:
        with av.open(str(path.absolute()), metadata_errors="replace") as container:
            stream = next(iter(container.streams.audio), None)
            if stream is None:
                raise MediaError(f"{path} holds no sound", "Name a sound file among --source-paths, or leave it out.")
            base = stream.time_base or Fraction(1, stream.codec_context.sample_rate)
            return SoundFile(path, stream.index, (stream.start_time or 0) * base)
    except av.FFmpegError as error:
        raise MediaError(
            f"{path} is no sound that can be read ({error.strerror})", "Check that it opens in a player."
        ) from error
