"""Deciding how a sound track is taken along: copied, or encoded anew, and with what."""

from __future__ import annotations

import io
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
from av.audio.stream import AudioStream
from av.container import OutputContainer
from av.stream import Stream

from facefusion.media.container import Container, SoundRules
from facefusion.media.copying import PacketCopier
from facefusion.media.feed import TrackWriter
from facefusion.media.sound import SoundEncoder
from facefusion.media.sound_encoder import SoundSettings
from facefusion.media.sound_line import SLIP
from facefusion.media.source import open_source

SHORT_PCM = ("pcm_alaw", "pcm_mulaw", "pcm_s16be", "pcm_s16le", "pcm_s8", "pcm_u8")
"""What 16 bits hold exactly."""

BLOCK_SIZED = ("asf", "avi", "wav")
"""Containers that say of all sound how many bytes belong together (Microsoft's WAVEFORMATEX, ``nBlockAlign``)."""


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
    begin: Fraction = Fraction(0),
) -> AddedTrack | None:
    """Add a sound track to an output that is not yet started.

    Args:
        source: the track.
        name: of the track, for the user: ``audio track 1 of a.mp4``.
        output: to add to.
        container: the output's kind.
        settings: what is asked of the sound.
        origin: FFmpeg's name of the container that the track comes from.
        begin: when its file begins to play, in seconds.

    Returns:
        None where the container can hold it in no way.
    """
    codec = source.codec_context.codec.canonical_name
    rules = container.sound
    delay = (source.start_time or 0) * (source.time_base or Fraction(0)) - begin
    keeps_start = rules.timed or source.start_time is None or abs(delay) <= SLIP
    is_bare = codec == "aac" and not source.codec_context.extradata and not rules.bare_aac
    if settings.copies and keeps_start and not is_bare and rules.holds(codec, source.codec_context.sample_rate):
        stream = copied_stream(source, output)
        if stream is not None:
            stream.time_base = Fraction(1, source.codec_context.sample_rate)
            copier = PacketCopier(source, stream, container, hidden_start=_hides_start(origin, container))
            return AddedTrack(stream, copier)
    wanted = _encoder(codec, rules, settings)
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
    unfit = f"{codec} of {source.codec_context.sample_rate} Hz" if codec in (rules.copied or ()) else codec
    unfit = "aac of a transport stream" if is_bare else unfit
    why = _why(unfit, rules, settings, keeps_start=keeps_start)
    changes = f" ({', '.join(encoder.changes)})" if encoder.changes else ""
    return AddedTrack(encoder.stream, encoder, f"{why}: {name} is encoded anew as {wanted}{changes}.")


def copied_stream(source: Stream, output: OutputContainer) -> Stream | None:
    """A stream of the output for the source's packets as they are; none where the container cannot hold it."""
    try:
        if isinstance(source, AudioStream) and _counts_bytes(source, output):
            return _without_block_size(source, output)
        return output.add_stream_from_template(source, opaque=True)
    except ValueError:
        return None


def _counts_bytes(source: AudioStream, output: OutputContainer) -> bool:
    """Whether FFmpeg would take packets for plain samples: its muxer for AVI does so by the block size of its source.

    Then times are counted in bytes, at a rate that compressed sound does not have.
    """
    has_block_size = source.container.format.name in BLOCK_SIZED
    return output.format.name == "avi" and has_block_size and not source.codec_context.name.startswith("pcm_")


def _without_block_size(source: AudioStream, output: OutputContainer) -> Stream:
    """A stream made after a copy of the source's first packet in Matroska, which has no block size."""
    copy = io.BytesIO()
    with open_source(Path(source.container.name)) as again, av.open(copy, "w", format="matroska") as first:
        stream = again.streams[source.index]
        target = first.add_stream_from_template(stream)
        packet = next(packet for packet in again.demux(stream) if packet.size)
        packet.stream = target
        first.mux_one(packet)
    copy.seek(0)
    with av.open(copy) as bare:
        return output.add_stream_from_template(bare.streams.audio[0], opaque=True)


def _encoder(codec: str, rules: SoundRules, settings: SoundSettings) -> str:
    """The encoder to use; plain samples stay plain samples where the container takes any."""
    asked = settings.encoder is not None or settings.quality is not None
    if not asked and codec.startswith("pcm_") and "pcm" in (rules.copied or ()):
        return "pcm_s16le" if codec in SHORT_PCM else "pcm_s32le"
    return rules.encoder_for(settings.encoder)


def _hides_start(origin: str, container: Container) -> bool:
    """Whether packets of before 0 are only there for the decoder, and the output's container cannot say so.

    In MP4 they always are; Matroska hands the number of samples to throw away on to Matroska.
    """
    return "mp4" in origin or ("matroska" in origin and not container.sound.priming)


def _why(unfit: str, rules: SoundRules, settings: SoundSettings, *, keeps_start: bool) -> str:
    """Why sound is not copied, or not encoded with what was asked for."""
    if not settings.copies:
        held = settings.encoder is None or rules.encoder_for(settings.encoder) == settings.encoder
        return "As asked" if held else f"The output's container cannot hold {settings.encoder}"
    if not keeps_start:
        return "The output's container cannot begin with silence"
    return f"The output's container cannot hold {unfit}"
