"""Deciding how a sound track is taken along: copied, or encoded anew, and with what."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from av.audio.stream import AudioStream
from av.container import OutputContainer
from av.stream import Stream

from facefusion.media.container import Container
from facefusion.media.copying import PacketCopier
from facefusion.media.feed import TrackWriter
from facefusion.media.sound import SoundEncoder
from facefusion.media.sound_encoder import SoundSettings
from facefusion.media.sound_line import SLIP

MP3_LEAST_RATE = 16_000
"""MP4 knows MP3 of MPEG-1 and MPEG-2 only (FFmpeg's muxer refuses lower rates)."""


@dataclass(frozen=True, slots=True)
class AddedTrack:
    """A track that was added to the output."""

    stream: Stream
    """In the output."""
    writer: TrackWriter
    notice: str | None = None


def add_sound(
    source: AudioStream,
    name: str,
    output: OutputContainer,
    container: Container,
    settings: SoundSettings,
    *,
    origin: str,
) -> AddedTrack | None:
    """Add a sound track to an output that is not yet started.

    Args:
        source: the track.
        name: of the track, for the user: ``audio track 1 of a.mp4``.
        output: to add to.
        container: the output's kind.
        settings: what is asked of the sound.
        origin: FFmpeg's name of the container that the track comes from.

    Returns:
        None where the container can hold it in no way.
    """
    codec = source.codec_context.codec.canonical_name
    if settings.copies and _fits(source, codec, container):
        stream = copied_stream(source, output)
        if stream is not None:
            stream.time_base = Fraction(1, source.codec_context.sample_rate)
            copier = PacketCopier(source, stream, container, hidden_start=_hides_start(origin, container))
            return AddedTrack(stream, copier)
    rules = container.sound
    wanted = rules.encoder_for(settings.encoder)
    try:
        encoder = SoundEncoder(
            source,
            output,
            wanted,
            rules=rules,
            quality=settings.quality,
            gain=settings.gain,
        )
    except ValueError:
        return None
    return AddedTrack(encoder.stream, encoder, _notice(name, codec, wanted, settings, encoder))


def copied_stream(source: Stream, output: OutputContainer) -> Stream | None:
    """A stream of the output for the source's packets as they are; none where the container cannot hold it."""
    try:
        return output.add_stream_from_template(source, opaque=True)
    except ValueError:
        return None


def _fits(source: AudioStream, codec: str, container: Container) -> bool:
    """Whether the packets can go into the container as they are, as far as is known before trying."""
    rules, rate = container.sound, source.codec_context.sample_rate
    if not rules.holds(codec) or (codec == "mp3" and container.edit_lists and rate < MP3_LEAST_RATE):
        return False
    begins = (source.start_time or 0) * (source.time_base or Fraction(0))
    return rules.timed or abs(begins) <= SLIP


def _hides_start(origin: str, container: Container) -> bool:
    """Whether packets of before 0 are only there for the decoder, and the output's container cannot say so.

    In MP4 they always are; Matroska hands the number of samples to throw away on to Matroska.
    """
    return "mp4" in origin or ("matroska" in origin and not container.sound.priming)


def _notice(name: str, codec: str, encoder: str, settings: SoundSettings, added: SoundEncoder) -> str:
    changes = f" ({', '.join(added.changes)})" if added.changes else ""
    if settings.copies:
        return f"The output's container cannot hold {codec}: {name} is encoded anew as {encoder}{changes}."
    instead = f", since the output's container cannot hold {settings.encoder}"
    why = ", as asked" if settings.encoder in (None, encoder) else instead
    return f"{name[0].upper()}{name[1:]} is encoded anew as {encoder}{changes}{why}."
