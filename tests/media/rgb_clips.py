"""Clips whose pixels are no planes of YUV: RGB, with and without an alpha channel."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from av.video.frame import VideoFrame
from av.video.stream import VideoStream


def make_packed_clip(
    path: Path, pictures: Sequence[np.ndarray], pixel_format: str, codec: str, options: dict[str, str] | None = None
) -> None:
    """Write arrays as :meth:`av.VideoFrame.from_ndarray` takes them, 25 a second."""
    height, width = pictures[0].shape[:2]
    with av.open(str(path), "w") as output:
        video = output.add_stream(codec, rate=25, options=options or {})
        assert isinstance(video, VideoStream)
        video.width, video.height, video.pix_fmt = width, height, pixel_format
        for index, pixels in enumerate(pictures):
            frame = VideoFrame.from_ndarray(pixels, format=pixel_format)
            frame.pts, frame.time_base = index, Fraction(1, 25)
            output.mux(video.encode(frame))
        output.mux(video.encode(None))


def smooth_picture(width: int, height: int, channels: int, index: int = 0) -> np.ndarray:
    """Soft colours that subsampling hardly changes."""
    y, x = np.mgrid[0:height, 0:width]
    waves = [0.5 + 0.25 * np.sin(x / 17 + part + index / 3) + 0.15 * np.cos(y / 13 - part) for part in range(channels)]
    return np.rint(np.stack(waves, -1) * 255).astype(np.uint8)
