"""Clips with several faces, made from a sample clip."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import av
import numpy as np
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

GREY = 128
"""Of luma and chroma, where a tile shows nothing."""

QUALITY = "18"
"""Constant rate factor of x264: what the sample clips have, more or less."""


def tiled(clip: Path, faces: int, path: Path) -> None:
    """Write a clip of four tiles, two by two, of which some show a clip and the others nothing.

    So clips of one to four faces have the same size, and differ in nothing else.

    Args:
        clip: in yuv420p, with even sides; one face is seen in it.
        faces: tiles that show it, 1..4, row by row.
        path: to write to; MP4 without sound.
    """
    with av.open(str(clip)) as source, av.open(str(path), "w") as output:
        stream = source.streams.video[0]
        coded = output.add_stream("libx264", rate=stream.average_rate, options={"crf": QUALITY, "preset": "veryfast"})
        assert isinstance(coded, VideoStream)
        coded.width, coded.height, coded.pix_fmt = 2 * stream.width, 2 * stream.height, "yuv420p"
        for frame in _tiles(source.decode(stream), faces):
            output.mux(coded.encode(frame))
        output.mux(coded.encode(None))


def _tiles(frames: Iterator[VideoFrame], faces: int) -> Iterator[VideoFrame]:
    for number, frame in enumerate(frames):
        pixels = frame.to_ndarray(format="yuv420p")
        luma, height = pixels[: frame.height], frame.height
        chroma = pixels[height:].reshape(2, height // 2, frame.width // 2)
        planes = [_grid(plane, faces) for plane in (luma, *chroma)]
        tile = VideoFrame.from_ndarray(
            np.concatenate([planes[0], *(plane.reshape(-1, 2 * frame.width) for plane in planes[1:])]), "yuv420p"
        )
        tile.pts = number
        yield tile


def _grid(plane: np.ndarray, faces: int) -> np.ndarray:
    empty = np.full_like(plane, GREY)
    tiles = [plane if number < faces else empty for number in range(4)]
    return np.block([tiles[:2], tiles[2:]])
