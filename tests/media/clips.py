"""Small clips made on the spot."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream
from av.stream import Stream
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

TIME_BASE = Fraction(1, 12800)


def noise_planes(name: str, width: int, height: int, index: int) -> list[np.ndarray]:
    """Planes of random codes, each frame its own."""
    frame = VideoFrame(width, height, name)
    rng = np.random.default_rng(index)
    bits = max(component.bits for component in frame.format.components)
    dtype = np.uint8 if bits == 8 else np.uint16
    return [rng.integers(0, 1 << bits, (plane.height, plane.width), dtype) for plane in frame.planes]


def frame_from(planes: Sequence[np.ndarray], name: str, width: int, height: int) -> VideoFrame:
    frame = VideoFrame(width, height, name)
    for plane, codes in zip(frame.planes, planes, strict=True):
        raw: Any = plane
        rows = np.frombuffer(raw, codes.dtype).reshape(plane.height, -1)
        rows[:, : plane.width] = codes
    return frame


def planes_of(frame: VideoFrame) -> list[np.ndarray]:
    """The planes as a decoder gave them, read without the code under test."""
    bits = max(component.bits for component in frame.format.components)
    dtype = np.dtype(np.uint8 if bits == 8 else np.uint16)
    planes = []
    for plane in frame.planes:
        raw: Any = plane
        planes.append(np.frombuffer(raw, dtype).reshape(plane.height, -1)[:, : plane.width].copy())
    return planes


def make_clip(
    path: Path,
    *,
    width: int = 96,
    height: int = 64,
    pixel_format: str = "yuv420p",
    codec: str = "libx264",
    options: dict[str, str] | None = None,
    stamps: Sequence[int] = tuple(range(0, 8 * 512, 512)),
    pictures: Sequence[Sequence[np.ndarray]] | None = None,
    rate: int = 25,
    audio: Sequence[str] = (),
    rotation: int = 0,
    mirrored: bool = False,
    colour: dict[str, int] | None = None,
    aspect: Fraction | None = None,
) -> list[list[np.ndarray]]:
    """Write a clip, lossless unless ``options`` say otherwise, and give back the planes that went in.

    ``stamps`` are presentation times in 1/12800 s. Each entry of ``audio`` is the codec of a track of about the
    clip's length.
    """
    if pictures is None:
        pictures = [noise_planes(pixel_format, width, height, index) for index in range(len(stamps))]
    with av.open(str(path), "w") as output:
        video = output.add_stream(codec, rate=rate, options={"qp": "0"} if options is None else options)
        assert isinstance(video, VideoStream)
        video.width, video.height, video.pix_fmt = width, height, pixel_format
        video.codec_context.time_base = video.time_base = TIME_BASE
        for key, value in (colour or {}).items():
            setattr(video.codec_context, key, value)
        if aspect is not None:
            video.codec_context.sample_aspect_ratio = aspect
        if rotation or mirrored:
            video.set_display_rotation(rotation, hflip=mirrored)
        tracks = [output.add_stream(name, rate=48000) for name in audio]
        for planes, stamp in zip(pictures, stamps, strict=True):
            frame = frame_from(planes, pixel_format, width, height)
            frame.pts, frame.time_base = stamp, TIME_BASE
            output.mux(video.encode(frame))
        output.mux(video.encode(None))
        for number, track in enumerate(tracks):
            _fill(output, track, number, (stamps[-1] + 512) / 12800)
    return [list(planes) for planes in pictures]


def _fill(output: av.container.OutputContainer, track: Stream, number: int, seconds: float) -> None:
    assert isinstance(track, AudioStream)
    count = int(seconds * 48000)
    tone = np.sin(np.arange(count) * 2 * np.pi * (220 + 110 * number) / 48000).astype(np.float32) * 0.5
    layout = track.codec_context.layout.name
    fifo = av.AudioFifo()
    frame = AudioFrame.from_ndarray(np.stack([tone] * track.codec_context.layout.nb_channels), "fltp", layout)
    frame.rate, frame.pts = 48000, 0
    resampler = av.AudioResampler(track.codec_context.format.name, layout, 48000)
    for part in resampler.resample(frame):
        fifo.write(part)
    while fifo.samples:
        output.mux(track.encode(fifo.read(1024, partial=True)))
    output.mux(track.encode(None))


def decode(path: Path) -> list[VideoFrame]:
    with av.open(str(path)) as container:
        return list(container.decode(video=0))


def times_of(path: Path) -> list[Fraction]:
    return [frame.pts * frame.time_base for frame in decode(path) if frame.pts is not None and frame.time_base]


def packets_of(path: Path, index: int) -> list[tuple[Fraction, bytes]]:
    """Presentation time in seconds and bytes of a track's packets."""
    with av.open(str(path)) as container:
        stream = container.streams[index]
        return [
            (packet.pts * packet.time_base, bytes(packet))
            for packet in container.demux(stream)
            if packet.size and packet.pts is not None
        ]
