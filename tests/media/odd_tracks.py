"""Clips with sound that can be told apart, and results that the tracks' copier alone made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from facefusion.media.container import container_of
from facefusion.media.probe import probe
from facefusion.media.sound_encoder import SoundSettings
from facefusion.media.sound_file import SoundFile
from facefusion.media.span import Span
from facefusion.media.tracks import TrackCopier

RATE = 48_000
PICTURE_RATE = 25
FULL_SCALE = {"s16": 1 << 15, "s16p": 1 << 15, "s32": 1 << 31, "s32p": 1 << 31}


def noise(seconds: float, rate: int = RATE, seed: int = 0) -> np.ndarray:
    """Noise of a few kHz: no two stretches of it are alike, and every codec keeps it."""
    samples = np.random.default_rng(seed).standard_normal(round(seconds * rate) + 15)
    return np.convolve(samples, np.hanning(16), "valid") * 0.05


def make_noisy_clip(
    path: Path,
    codecs: Sequence[str] = ("aac",),
    *,
    seconds: float = 4.0,
    sound_seconds: float | None = None,
    rate: int = RATE,
    layout: str = "stereo",
    delay: Fraction = Fraction(0),
    lost: Callable[[Fraction], bool] = lambda time: False,
    prepare: Callable[[av.container.OutputContainer], Callable[[], None]] | None = None,
    format_name: str | None = None,
) -> None:
    """Write a clip of 25 frames a second with one track of its own noise per codec.

    ``delay`` is when the sound begins, in seconds; packets whose time ``lost`` names are dropped. ``prepare`` may add
    tracks before the header, and what it gives back is called after it.
    """
    sound_seconds = seconds if sound_seconds is None else sound_seconds
    with av.open(str(path), "w", format=format_name) as output:
        picture = add_picture(output, "libvpx-vp9" if path.suffix == ".webm" else "libx264")
        tracks = []
        for codec in codecs:
            track = output.add_stream(codec, rate=rate)
            assert isinstance(track, AudioStream)
            track.codec_context.layout = layout
            track.codec_context.bit_rate = 96_000 * track.codec_context.layout.nb_channels
            track.codec_context.time_base = track.time_base = Fraction(1, rate)
            tracks.append(track)
        after = prepare(output) if prepare is not None else None
        encode_picture(output, picture, round(seconds * PICTURE_RATE))
        for number, track in enumerate(tracks):
            samples = noise(sound_seconds, rate, number)
            for packet in encoded(track, samples, delay):
                if not lost(packet.pts * packet.time_base):
                    output.mux(packet)
        if after is not None:
            after()


def add_picture(output: av.container.OutputContainer, codec: str) -> VideoStream:
    quick = {"deadline": "realtime", "cpu-used": "8"} if codec == "libvpx-vp9" else {"preset": "ultrafast"}
    stream = output.add_stream(codec, rate=PICTURE_RATE, options={"bf": "0", "g": "25", **quick})
    assert isinstance(stream, VideoStream)
    stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
    stream.codec_context.thread_count = 1
    return stream


def encode_picture(
    output: av.container.OutputContainer,
    stream: VideoStream,
    count: int,
    before: Callable[[Fraction], None] = lambda time: None,
) -> None:
    frame = VideoFrame(64, 48, "yuv420p")
    for index in range(count):
        before(Fraction(index, PICTURE_RATE))
        for plane in frame.planes:
            plane.update(bytes([16 + index * 3 % 200]) * plane.buffer_size)
        frame.pts, frame.time_base = index, Fraction(1, PICTURE_RATE)
        output.mux(stream.encode(frame))
    output.mux(stream.encode(None))


def encoded(track: AudioStream, samples: np.ndarray, delay: Fraction) -> list[Any]:
    """The packets of a mono signal on all channels."""
    context = track.codec_context
    layout = context.layout
    packets = []
    for begin in range(0, len(samples), 4800):
        part = np.ascontiguousarray(np.stack([samples[begin : begin + 4800]] * layout.nb_channels), np.float32)
        frame = AudioFrame.from_ndarray(part, "fltp", layout.name)
        frame.sample_rate, frame.time_base = context.sample_rate, Fraction(1, context.sample_rate)
        frame.pts = begin + round(delay * context.sample_rate)
        packets += track.encode(frame)
    return packets + list(track.encode(None))


def take_along(
    source: Path,
    target: Path,
    *,
    start: Fraction | None = None,
    end: Fraction | None = None,
    sound: SoundSettings | None = None,
    replacement: SoundFile | None = None,
) -> list[str]:
    """Write a picture of the source's length, and let the copier add the rest; what it said."""
    info, container = probe(source), container_of(target)
    last = end if end is not None else info.start_time + info.duration
    count = max(round((last - (start or 0)) * PICTURE_RATE), 1)
    encoder = container.encoders[0] if container.encoders else "libx264"
    with av.open(str(target), "w", format=container.muxer, container_options=dict(container.options)) as output:
        picture = add_picture(output, encoder)
        with TrackCopier(info, output, container, sound, replacement) as tracks:
            tracks.begin(Span(start or Fraction(0), end, trimmed=start is not None), Fraction(count, PICTURE_RATE))
            encode_picture(output, picture, count, lambda time: tracks.advance(time + (start or 0)))
            tracks.finish()
            output.close()
            tracks.look_for_losses(target)
            return tracks.notices


def heard(path: Path, track: int = 0) -> tuple[np.ndarray, int, int]:
    """What a player plays of a track's first channel: samples from time 0 on, their rate, and the first one's number.

    Times before 0 are not heard.
    """
    with av.open(str(path)) as container:
        frames = [frame for frame in container.decode(audio=track) if frame.pts is not None]
    rate = frames[0].sample_rate
    begins: list[int] = []
    for frame in frames:
        tick = (frame.time_base or Fraction(0)) * rate
        stamp = round((frame.pts or 0) * tick)
        follows = begins[-1] + frames[len(begins) - 1].samples if begins else stamp
        begins.append(follows if abs(stamp - follows) <= tick else stamp)  # as players do: no clicks
    line = np.zeros(max(begin + frame.samples for begin, frame in zip(begins, frames, strict=True)))
    for begin, frame in zip(begins, frames, strict=True):
        samples = frame.to_ndarray().astype(np.float64)
        if not frame.format.is_planar:
            samples = samples.reshape(-1, frame.layout.nb_channels).T
        cut = max(-begin, 0)
        line[begin + cut : begin + frame.samples] = samples[0, cut:] / FULL_SCALE.get(frame.format.name, 1)
    return line, rate, begins[0]


def lag(signal: np.ndarray, reference: np.ndarray, at: int, reach: int = 4800, length: int = 9600) -> tuple[int, float]:
    """By how many samples ``signal`` is late against ``reference`` around a sample of it, and how alike they are."""
    piece = signal[at : at + length]
    low = max(at - reach, 0)
    window = reference[low : at + length + reach]
    size = 1 << (len(window) + len(piece)).bit_length()
    spectrum = np.fft.rfft(window, size) * np.conj(np.fft.rfft(piece, size))
    products = np.fft.irfft(spectrum, size)[: len(window) - len(piece) + 1]
    best = int(np.argmax(products))
    match = window[best : best + len(piece)]
    return at - (low + best), float(np.corrcoef(piece, match)[0, 1])
