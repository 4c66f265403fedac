"""Encoding a sound track anew, for a container that cannot hold it as it is."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import av
from av.audio.codeccontext import AudioCodecContext
from av.audio.frame import AudioFrame
from av.audio.resampler import AudioResampler
from av.audio.stream import AudioStream
from av.container import OutputContainer
from av.packet import Packet
from av.stream import Stream

BIT_RATE_PER_CHANNEL = 96_000
"""Bits per second; transparent for AAC and Opus."""

OPUS_RATE = 48_000
MOST_CHANNELS = 8


class SoundEncoder:
    """Decodes the packets of one track and encodes them for another container, times kept."""

    def __init__(self, source: AudioStream, output: OutputContainer, codec: str) -> None:
        """Add a track to ``output``.

        Args:
            source: the track to re-encode.
            output: not yet started.
            codec: the encoder.

        Raises:
            ValueError: the container cannot hold that either.
        """
        context = source.codec_context
        rate = OPUS_RATE if codec == "libopus" else context.sample_rate
        stream = output.add_stream(codec, rate=rate)
        if not isinstance(stream, AudioStream):
            raise ValueError(f"{codec} is no audio encoder")
        self.stream = stream
        target: AudioCodecContext = stream.codec_context
        target.layout = context.layout
        target.bit_rate = BIT_RATE_PER_CHANNEL * min(context.layout.nb_channels, MOST_CHANNELS)
        target.time_base = stream.time_base = Fraction(1, rate)
        self._resampler: AudioResampler | None = None

    def encode(self, packet: Packet[Stream], shift: Fraction) -> Iterator[Packet[AudioStream]]:
        """Packets for the output; damaged ones of the source are passed over.

        Args:
            packet: of the source.
            shift: seconds to take off all times.
        """
        try:
            frames = packet.decode()
        except av.FFmpegError:
            return
        for frame in frames:
            if isinstance(frame, AudioFrame):
                yield from self._encode(frame, shift)

    def finish(self) -> Iterator[Packet[AudioStream]]:
        """The packets that the encoder still holds."""
        if self._resampler is not None:
            for part in self._resampler.resample(None):
                yield from self.stream.encode(part)
        yield from self.stream.encode(None)

    def _encode(self, frame: AudioFrame, shift: Fraction) -> Iterator[Packet[AudioStream]]:
        if self._resampler is None:
            context = self.stream.codec_context
            context.open(strict=False)
            self._resampler = AudioResampler(
                context.format, context.layout, context.sample_rate, frame_size=context.frame_size or None
            )
        if frame.pts is not None and frame.time_base:
            frame.pts -= round(shift / frame.time_base)
        for part in self._resampler.resample(frame):
            yield from self.stream.encode(part)
