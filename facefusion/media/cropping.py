"""The part of the stored picture that a container says is to be shown.

Decoders apply the cropping window of the coded stream, but neither QuickTime's clean aperture nor Matroska's cropping;
FFmpeg reads both and PyAV hands on neither, so they are read from the file here.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import av
from av.filter.graph import Graph
from av.video.frame import VideoFrame

from facefusion.core.values import Size

StampT = TypeVar("StampT")


@dataclass(frozen=True, slots=True)
class Crop:
    """Columns and rows that are cut off at each side of the stored picture."""

    left: int = 0
    top: int = 0
    right: int = 0
    bottom: int = 0

    def size_of(self, stored: Size) -> Size:
        """What is left of a picture."""
        return Size(stored.width - self.left - self.right, stored.height - self.top - self.bottom)

    def fits(self, stored: Size) -> bool:
        """Whether it cuts something off, and leaves something."""
        sides = (self.left, self.top, self.right, self.bottom)
        return min(sides) >= 0 and max(sides) > 0 and min(self.size_of(stored)) > 0

    def on_samples(self, pixel_format: str) -> Crop:
        """The crop that begins at a whole sample of chroma: up to a column and a row more are shown."""
        kind = av.VideoFormat(pixel_format)
        step_x, step_y = 64 // kind.chroma_width(64), 64 // kind.chroma_height(64)
        return Crop(self.left // step_x * step_x, self.top // step_y * step_y, self.right, self.bottom)


def cropped(
    stamped: Iterable[tuple[VideoFrame, StampT]], crop: Crop | None, shown: Size
) -> Iterator[tuple[VideoFrame, StampT]]:
    """The frames, cut; nothing is copied. Frames of another size than the stream began with are left as they are."""
    if crop is None:
        yield from stamped
        return
    stored = Size(shown.width + crop.left + crop.right, shown.height + crop.top + crop.bottom)
    graph: Graph | None = None
    pixel_format = ""
    for frame, stamp in stamped:
        if (frame.width, frame.height) != stored:
            yield frame, stamp
            continue
        if graph is None or frame.format.name != pixel_format:
            pixel_format = frame.format.name
            graph = _graph(stored, shown, crop, pixel_format)
        frame.pts, frame.time_base = 0, Fraction(1)
        graph.vpush(frame)
        yield graph.vpull(), stamp


def _graph(stored: Size, shown: Size, crop: Crop, pixel_format: str) -> Graph:
    graph = Graph()
    links = [
        graph.add_buffer(
            width=stored.width, height=stored.height, format=av.VideoFormat(pixel_format), time_base=Fraction(1)
        ),
        graph.add("crop", f"{shown.width}:{shown.height}:{crop.left}:{crop.top}:exact=1"),
        graph.add("buffersink"),
    ]
    for one, next_one in itertools.pairwise(links):
        one.link_to(next_one)
    graph.configure()
    return graph
