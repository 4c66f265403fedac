"""Encoding a sound track anew: where the container cannot hold it as it is, or the user asks for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import cast

import av
import numpy as np
from av.audio.codeccontext import AudioCodecContext
from av.audio.frame import AudioFrame
from av.audio.resampler import AudioResampler
from av.audio.stream import AudioStream
from av.container import OutputContainer
from av.packet import Packet
from av.stream import Stream

from facefusion.core.errors import SetupError
from facefusion.media.container import SoundRules
from facefusion.media.sound_encoder import SOUND_ENCODERS, sound_options
from facefusion.media.sound_line import SoundLine
from facefusion.media.span import Span

WORKING = "dblp"
"""Sample format between decoder and encoder: exact for all that decoders give."""

TYPICAL_LAYOUTS = {1: "mono", 2: "stereo", 3: "3.0", 4: "quad", 5: "5.0", 6: "5.1", 7: "6.1", 8: "7.1"}
"""By number of channels, as Opus and Vorbis have them."""

SAME_ELSEWHERE = {"5.1(side)": "5.1", "5.0(side)": "5.0", "quad(side)": "quad"}
"""Layouts that differ in the name of two channels alone from one that all encoders know."""


def usable_sound_encoders() -> tuple[str, ...]:
    """The known encoders that this build of FFmpeg has."""
    return tuple(name for name in SOUND_ENCODERS if name in av.codecs_available)


def check_sound_encoder(name: str | None) -> None:
    """Make sure that an encoder can be had, before anything slow begins.

    Raises:
        SetupError: this build of FFmpeg lacks it.
    """
    if name is not None and name not in av.codecs_available:
        raise SetupError(
            f"the FFmpeg in use has no sound encoder {name}",
            f"Choose another with --output-audio-encoder: {', '.join(usable_sound_encoders())}.",
        )


class SoundEncoder:
    """Decodes the packets of one track, lays their sound out without holes, and encodes it for another container."""

    def __init__(
        self,
        source: AudioStream,
        output: OutputContainer,
        codec: str,
        *,
        rules: SoundRules,
        quality: int | None = None,
        gain: float = 1.0,
    ) -> None:
        """Add a track to ``output``.

        Args:
            source: the track to re-encode.
            output: not yet started.
            codec: the encoder.
            rules: of the output's container.
            quality: 0 to 100; none for the encoder's own.
            gain: factor on every sample.

        Raises:
            SetupError: this build of FFmpeg lacks the encoder.
            ValueError: the container cannot hold that either.
        """
        check_sound_encoder(codec)
        context = source.codec_context
        wanted = _nearest_rate(codec, rules.rate or context.sample_rate)
        layout = _nearest_layout(codec, context.layout.name, context.layout.nb_channels, wanted)
        stream = output.add_stream(codec, rate=wanted)
        if not isinstance(stream, AudioStream):
            raise ValueError(f"{codec} is no sound encoder")
        self.stream = stream
        self._source = source
        self._gain = gain
        self._rules = rules
        self._line: SoundLine | None = None
        self._span = Span()
        self._damaged = 0
        self._resampler = AudioResampler(WORKING, context.layout.name, context.sample_rate)
        self._decoded: tuple[str, str, int] | None = None
        target: AudioCodecContext = stream.codec_context
        target.layout = layout
        target.time_base = stream.time_base = Fraction(1, wanted)
        target.options.update(sound_options(codec, quality, target.layout.nb_channels))
        target.open(strict=False)

    @property
    def changes(self) -> tuple[str, ...]:
        """What becomes of the sound beside the codec: another rate, fewer channels."""
        old, new = self._source.codec_context, self.stream.codec_context
        rate = f"{old.sample_rate} to {new.sample_rate} Hz" if old.sample_rate != new.sample_rate else None
        fewer = new.layout.nb_channels < old.layout.nb_channels
        layout = f"{old.layout.nb_channels} to {new.layout.nb_channels} channels" if fewer else None
        return tuple(change for change in (rate, layout) if change)

    @property
    def notices(self) -> tuple[str, ...]:
        """What the user should know about the sound. Asked after :meth:`finish`."""
        missing = 0.0 if self._line is None else self._line.filled / self._source.codec_context.sample_rate
        notices = []
        if self._damaged:
            notices.append(f"{self._damaged} packets of audio track {self._source.index} could not be decoded.")
        if missing:
            notices.append(
                f"Audio track {self._source.index} has gaps of {missing:.3f} s in all; silence stands for them."
            )
        return tuple(notices)

    def begin(self, span: Span) -> None:
        """Start anew with the part of the source that is kept, exact to the sample."""
        context = self._source.codec_context
        self._span = span
        self._line = SoundLine(context.sample_rate, context.layout.nb_channels, span, from_start=not self._rules.timed)

    def write(self, packet: Packet[Stream]) -> Iterator[Packet[Stream]]:
        """Packets for the output; damaged ones of the source are passed over, and silence stands for them."""
        try:
            frames = packet.decode()
        except av.FFmpegError:
            self._damaged += 1
            return
        for frame in frames:
            if isinstance(frame, AudioFrame) and frame.pts is not None:
                yield from self._place(frame)

    def finish(self) -> Iterator[Packet[Stream]]:
        """The packets that the decoder and the encoder still hold."""
        with suppress(av.FFmpegError):  # what it holds is damaged
            for frame in self._source.decode(None):
                if frame.pts is not None:
                    yield from self._place(frame)
        if not self._rules.timed and self._line is not None:
            for position, samples in self._line.fill_up():
                yield from self._encode(position, samples)
        yield from self._heard(self.stream.encode(None))

    def _place(self, frame: AudioFrame) -> Iterator[Packet[Stream]]:
        if self._line is None:
            raise RuntimeError("begin() comes before write()")
        if not frame.time_base:
            frame.time_base = self._source.time_base or Fraction(1, frame.sample_rate)
        time = (frame.pts or 0) * frame.time_base
        for part in self._alike(frame):
            for position, samples in self._line.place(part.to_ndarray().astype(np.float64, copy=False), time):
                yield from self._encode(position, samples)
            time += Fraction(part.samples, part.sample_rate)

    def _alike(self, frame: AudioFrame) -> list[AudioFrame]:
        """The frame in the working format; a broadcast may change rate and layout on the way."""
        decoded = (frame.format.name, frame.layout.name, frame.sample_rate)
        if decoded != self._decoded:
            context = self._source.codec_context
            self._resampler = AudioResampler(WORKING, context.layout.name, context.sample_rate)
            self._decoded = decoded
        return self._resampler.resample(frame)

    def _encode(self, position: int, samples: np.ndarray) -> Iterator[Packet[Stream]]:
        context = self._source.codec_context
        frame = AudioFrame.from_ndarray(np.ascontiguousarray(samples * self._gain), WORKING, context.layout.name)
        frame.sample_rate = context.sample_rate
        frame.pts, frame.time_base = position, Fraction(1, context.sample_rate)
        yield from self._heard(self.stream.encode(frame))

    def _heard(self, packets: Sequence[Packet[AudioStream]]) -> Iterator[Packet[Stream]]:
        """What the encoder puts before the first sample is left out where players would let it be heard."""
        for packet in packets:
            late = self._rules.priming or (packet.pts or 0) + (packet.duration or 0) / 2 >= 0
            if late:
                yield cast("Packet[Stream]", packet)


def _nearest_rate(codec: str, rate: int) -> int:
    """The rate itself where the encoder takes it, else the next higher one, else its highest; 48 kHz for Opus."""
    if codec == "libopus":
        return 48_000  # what its decoders give, whatever went in
    offered = sorted(av.Codec(codec, "w").audio_rates or (rate,))
    return next((one for one in offered if one >= rate), offered[-1])


def _nearest_layout(codec: str, layout: str, channels: int, rate: int) -> str:
    """The layout itself where the encoder takes it, else one as much like it as can be.

    Raises:
        ValueError: none is taken.
    """
    candidates = (SAME_ELSEWHERE.get(layout, layout), layout, TYPICAL_LAYOUTS.get(channels, "7.1"), "stereo")
    for candidate in candidates:
        trial = av.CodecContext.create(codec, "w")
        if not isinstance(trial, AudioCodecContext):
            break
        trial.sample_rate, trial.time_base = rate, Fraction(1, rate)
        trial.format = (trial.codec.audio_formats or [trial.format])[0].name
        trial.layout = candidate
        try:
            trial.open()
        except (av.FFmpegError, ValueError):
            continue
        return candidate
    raise ValueError(f"{codec} takes no layout like {layout}")
