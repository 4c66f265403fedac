"""Clips with something odd about them, made on the spot."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from tests.media.clips import TIME_BASE, frame_from

RATE = 25


def moving_picture(index: float, width: int, height: int) -> np.ndarray:
    """A pattern that moves from frame to frame, RGB."""
    y, x = np.mgrid[0:height, 0:width]
    wave = (128 + 60 * np.sin((x + 3 * index) / 9) + 50 * np.cos((y - 2 * index) / 7)).astype(np.uint8)
    return np.stack([wave, np.roll(wave, round(index * 2), 1), 255 - wave], -1)


def woven_picture(index: int, width: int, height: int) -> np.ndarray:
    """Two pictures half a frame apart, a field of each; the lower one is the earlier."""
    picture = moving_picture(2 * index + 1, width, height)
    picture[1::2] = moving_picture(2 * index, width, height)[1::2]
    return picture


def make_moving(
    path: Path,
    codec: str = "libx264",
    options: Mapping[str, str] | None = None,
    *,
    count: int = 60,
    size: tuple[int, int] = (64, 48),
    pixel_format: str = "yuv420p",
    picture: Callable[[int, int, int], np.ndarray] = moving_picture,
    rate: int = RATE,
) -> Path:
    """A clip of a moving pattern."""
    width, height = size
    with av.open(str(path), "w") as output:
        stream = output.add_stream(codec, rate=rate, options=dict(options or {}))
        assert isinstance(stream, VideoStream)
        stream.width, stream.height, stream.pix_fmt = width, height, pixel_format
        for index in range(count):
            frame = VideoFrame.from_ndarray(picture(index, width, height), "rgb24").reformat(format=pixel_format)
            output.mux(stream.encode(frame))
        output.mux(stream.encode(None))
    return path


def make_with_alpha(path: Path, codec: str, pixel_format: str, options: Mapping[str, str], count: int = 6) -> None:
    """A clip whose alpha channel grows from left to right, a little more with every frame."""
    with av.open(str(path), "w") as output:
        stream = output.add_stream(codec, rate=RATE, options=dict(options))
        assert isinstance(stream, VideoStream)
        stream.width, stream.height, stream.pix_fmt = 64, 48, pixel_format
        for index in range(count):
            frame = VideoFrame(64, 48, pixel_format)
            depth = max(component.bits for component in frame.format.components)
            dtype = np.uint8 if depth == 8 else np.uint16
            planes = [np.full((plane.height, plane.width), 90 << (depth - 8), dtype) for plane in frame.planes]
            planes[3] = alpha_ramp(index, depth)
            frame = frame_from(planes, pixel_format, 64, 48)
            frame.pts, frame.time_base = index * 512, TIME_BASE
            output.mux(stream.encode(frame))
        output.mux(stream.encode(None))


def alpha_ramp(index: int, depth: int) -> np.ndarray:
    row = np.linspace(0, 200 + index * 5, 64).round() * (1 << (depth - 8))
    return np.tile(row, (48, 1)).astype(np.uint8 if depth == 8 else np.uint16)


def shifted_copy(source: Path, path: Path, seconds: Fraction, options: Mapping[str, str] | None = None) -> Path:
    """The same packets at other times."""
    with av.open(str(source)) as given, av.open(str(path), "w", container_options=dict(options or {})) as output:
        stream = output.add_stream_from_template(given.streams.video[0])
        for packet in given.demux(video=0):
            if packet.size and packet.pts is not None and packet.dts is not None:
                ticks = round(seconds / packet.time_base)
                packet.pts, packet.dts, packet.stream = packet.pts + ticks, packet.dts + ticks, stream
                output.mux(packet)
    return path


def damaged_copy(source: Path, path: Path, seed: int = 3, places: int = 4) -> Path:
    """The same file with some bytes of its middle overwritten."""
    data = bytearray(source.read_bytes())
    chance = random.Random(seed)
    for _ in range(places):
        start = chance.randrange(len(data) * 3 // 10, len(data) * 7 // 10)
        for place in range(start, start + chance.randrange(20, 200)):
            data[place] = chance.randrange(256)
    path.write_bytes(data)
    return path


def with_garbage(source: Path, path: Path, packets: Sequence[int]) -> Path:
    """The same clip, in which some packets, counted from 0, hold nothing that can be decoded."""
    with av.open(str(source)) as given, av.open(str(path), "w") as output:
        stream = output.add_stream_from_template(given.streams.video[0])
        for number, packet in enumerate(given.demux(video=0)):
            if not packet.size:
                continue
            copy = Packet(bytes(packet.size)) if number in packets else packet
            copy.pts, copy.dts, copy.time_base, copy.duration = (
                packet.pts,
                packet.dts,
                packet.time_base,
                packet.duration,
            )
            copy.is_keyframe = packet.is_keyframe
            copy.stream = stream
            output.mux(copy)
    return path
