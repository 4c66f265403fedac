"""Making whole pictures of interlaced frames."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Generic, TypeVar

import av
from av.filter.graph import Graph
from av.video.frame import VideoFrame

from facefusion.media.pixel_format import working_format

StampT = TypeVar("StampT")


def deinterlaced(stamped: Iterable[tuple[VideoFrame, StampT]]) -> Iterator[tuple[VideoFrame, StampT]]:
    """The frames with every interlaced one made whole, and all others as they are.

    One picture is made of each frame, at the time of its first field, by FFmpeg's bwdif, which looks at one frame
    before and one after. What becomes of a frame depends on these three alone.
    """
    weaver: _Weaver[StampT] | None = None
    held: tuple[VideoFrame, StampT] | None = None
    for frame, stamp in stamped:
        if weaver is not None and not weaver.takes(frame):
            yield from weaver.finish()
            weaver = None
        if weaver is None and frame.interlaced_frame:
            weaver = _Weaver(frame)
            if held is not None and weaver.takes(held[0]):
                yield from weaver.push(*held)
            elif held is not None:
                yield held
            held = None
        if weaver is not None:
            yield from weaver.push(frame, stamp)
            continue
        if held is not None:
            yield held
        held = frame, stamp
    if held is not None:
        yield held
    if weaver is not None:
        yield from weaver.finish()


class _Weaver(Generic[StampT]):
    """Holds the filter for frames of one size and format."""

    def __init__(self, like: VideoFrame) -> None:
        self._format = working_format(like.format.name) if not like.format.is_rgb else like.format.name
        self._kind = _kind(like)
        self._graph = _graph(like.width, like.height, self._format)
        self._waiting: deque[StampT] = deque()
        self._pushed = 0

    def takes(self, frame: VideoFrame) -> bool:
        """Whether the frame is of the same size and format."""
        return _kind(frame) == self._kind

    def push(self, frame: VideoFrame, stamp: StampT) -> Iterator[tuple[VideoFrame, StampT]]:
        """Put a frame in; what is ready comes out."""
        if frame.format.name != self._format:
            frame = frame.reformat(format=self._format)
        frame.pts, frame.time_base = self._pushed, Fraction(1)
        self._pushed += 1
        self._waiting.append(stamp)
        self._graph.vpush(frame)
        yield from self._pull()

    def finish(self) -> Iterator[tuple[VideoFrame, StampT]]:
        """What was held back."""
        self._graph.vpush(None)
        yield from self._pull()

    def _pull(self) -> Iterator[tuple[VideoFrame, StampT]]:
        while True:
            try:
                frame = self._graph.vpull()
            except (av.BlockingIOError, av.EOFError):
                return
            yield frame, self._waiting.popleft()


def _kind(frame: VideoFrame) -> tuple[int, int, str]:
    return frame.width, frame.height, frame.format.name


def _graph(width: int, height: int, pixel_format: str) -> Graph:
    graph = Graph()
    links = [
        graph.add_buffer(width=width, height=height, format=av.VideoFormat(pixel_format), time_base=Fraction(1)),
        graph.add("bwdif", mode="send_frame", parity="auto", deint="interlaced"),
        graph.add("format", pix_fmts=pixel_format),
        graph.add("buffersink"),
    ]
    for one, next_one in itertools.pairwise(links):
        one.link_to(next_one)
    graph.configure()
    return graph
