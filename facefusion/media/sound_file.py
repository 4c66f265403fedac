"""Files of sound alone, whose sound takes the place of the target's."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import cast

from av.audio.codeccontext import AudioCodecContext
from av.audio.stream import AudioStream

from facefusion.core.errors import MediaError
from facefusion.media.source import open_source
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
    with open_source(path, "sound") as container:
        tracks = container.streams.audio
        if not tracks:
            raise MediaError(f"{path} holds no sound", "Name a sound file among --source-paths, or leave it out.")
        stream = next((track for track in tracks if _is_known(track)), None)
        if stream is None:
            raise MediaError(f"{path} holds no sound that can be decoded", "Convert it, for example to FLAC or WAV.")
        base = stream.time_base or Fraction(1, stream.codec_context.sample_rate)
        return SoundFile(path, stream.index, (stream.start_time or 0) * base)


def _is_known(track: AudioStream) -> bool:
    """Whether there is a decoder, and the track says how many samples a second has."""
    context = cast("AudioCodecContext | None", track.codec_context)
    return context is not None and context.sample_rate > 0
