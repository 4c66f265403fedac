"""One closed piece of a video, encoded on its own.

A segment's file holds the packets under time stamps that merely number the frames, since no container keeps times of
every time base; the true ones travel in the :class:`Segment`. Files are Matroska: it holds what every encoder makes,
alpha and colour descriptions included.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self, TypeVar, cast

import av
from av.container import InputContainer, OutputContainer
from av.container.core import Flags
from av.packet import Packet
from av.video.stream import VideoStream

from facefusion.core.errors import OutputError
from facefusion.core.values import Frame
from facefusion.media.encoding import Encoding
from facefusion.media.failure import explained
from facefusion.media.scheduling import ordinary_scheduling

ResultT = TypeVar("ResultT")

COUNT = Fraction(1, 1000)
"""Matroska's clock; a frame's number is its time."""

HEAD = 64
"""Number of the first frame. Decoding times count packets from 0 and must not pass presentation times; no encoder
gives a frame more than a few packets before its turn."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A finished segment."""

    path: Path
    stamps: tuple[int, ...]
    """Presentation time of each frame, in order, in units of the encoding's time base."""
    last_duration: int
    """How long the last frame shows, in the same units."""
    delay: int
    """By how many packets a frame comes at most before its turn."""

    def to_json(self) -> Mapping[str, object]:
        """All but the path, for a manifest."""
        return {"stamps": list(self.stamps), "last_duration": self.last_duration, "delay": self.delay}

    @classmethod
    def from_json(cls, path: Path, data: Mapping[str, object]) -> Self:
        """What :meth:`to_json` gave.

        Raises:
            KeyError, TypeError, ValueError: it is something else.
        """
        stamps = tuple(int(stamp) for stamp in cast("Sequence[int]", data["stamps"]))
        return cls(path, stamps, int(cast("int", data["last_duration"])), int(cast("int", data["delay"])))

    def packets(self, container: InputContainer) -> Iterator[tuple[int, Packet[VideoStream]]]:
        """Each packet in coding order, with the number of its frame within the segment."""
        stream = container.streams.video[0]
        for packet in container.demux(stream):
            if packet.size and packet.pts is not None:
                yield round(packet.pts * packet.time_base / COUNT) - HEAD, packet

    def is_whole(self) -> bool:
        """Whether the file opens and has a packet for every frame."""
        try:
            with av.open(str(self.path.absolute())) as container:
                ranks = sorted(rank for rank, _ in self.packets(container))
        except av.FFmpegError:
            return False
        return ranks == list(range(len(self.stamps)))


def stamp_of(time: Fraction, time_base: Fraction) -> int:
    """The tick nearest to a time in seconds. Halves go up, so that times a tick apart never meet."""
    return math.floor(time / time_base + Fraction(1, 2))


class FrameStamps:
    """The times of a segment's frames, as they come.

    Args:
        time_base: what all of them are counted in, in seconds.
    """

    def __init__(self, time_base: Fraction) -> None:
        self.stamps: list[int] = []
        self.last_duration = 0
        self._time_base = time_base

    def add(self, frame: Frame) -> int:
        """Note the next frame; its stamp.

        Raises:
            OutputError: it does not come after the one before it.
        """
        stamp = stamp_of(frame.time, self._time_base)
        if self.stamps and stamp <= self.stamps[-1]:
            raise OutputError(
                f"frame {frame.index} does not come after the one before it", "Choose a container with finer times."
            )
        self.stamps.append(stamp)
        self.last_duration = max(round(frame.duration / self._time_base), 1)
        return stamp

    def segment(self, path: Path, delay: int) -> Segment:
        """The finished segment; ``delay`` is by how many packets a frame comes at most before its turn."""
        return Segment(path, tuple(self.stamps), self.last_duration, delay)


def number_packet(packet: Packet[VideoStream], rank: int, place: int) -> None:
    """Give a packet its frame's number as its time, and its own place among the packets as its time of decoding."""
    packet.pts, packet.dts, packet.duration = rank + HEAD, place, 1
    packet.time_base = COUNT


class SegmentWriter(Protocol):
    """Encodes the frames of one segment, in order. A context manager; leaving it unfinished removes the file."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def write(self, frame: Frame) -> None:
        """Encode one frame; its picture must not change any more."""

    def finish(self) -> Segment:
        """Complete the file."""


class SegmentEncoder:
    """Encodes with one of FFmpeg's encoders, in this process."""

    def __init__(self, encoding: Encoding, path: Path) -> None:
        """Prepare to write.

        Args:
            encoding: what the encoder is told.
            path: the file to write.
        """
        self._encoding = encoding
        self._path = path
        self._render = encoding.renderer()
        self._stack = ExitStack()
        self._times = FrameStamps(encoding.time_base)
        self._ranks: dict[int, int] = {}
        """Number of each frame that the encoder holds, by its stamp."""
        self._packets = 0
        self._delay = 0

    def __enter__(self) -> Self:
        try:
            self._open()
        except BaseException:
            self._discard()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._discard()

    def write(self, frame: Frame) -> None:
        """Encode one frame.

        Raises:
            OutputError: the encoder or the disk refuses it.
            ResourceError: the disk is full.
        """
        encoded = self._render(frame.picture)
        stamp = self._times.add(frame)
        self._ranks[stamp] = len(self._times.stamps) - 1
        encoded.time_base = self._encoding.time_base
        encoded.pts = stamp
        encoded.duration = self._times.last_duration
        encoded.pict_type = 0
        with nullcontext() if self._stream.codec_context.is_open else ordinary_scheduling():
            self._guarded(lambda: self._keep(self._stream.encode(encoded)))

    def finish(self) -> Segment:
        """Complete the file.

        Raises:
            OutputError: nothing was written, or the encoder did not give every frame back.
            ResourceError: the disk is full.
        """
        self._guarded(lambda: self._keep(self._stream.encode(None)))
        if self._ranks or not self._times.stamps:
            raise OutputError(
                f"{self._encoding.encoder} gave {self._packets} of {len(self._times.stamps)} frames back",
                "Choose another --output-video-encoder.",
            )
        self._guarded(self._output.close)
        self._stack.pop_all()
        return self._times.segment(self._path, self._delay)

    def _open(self) -> None:
        self._path.unlink(missing_ok=True)
        muxer = self._encoding.segment_muxer
        self._output: OutputContainer = self._guarded(lambda: av.open(str(self._path.absolute()), "w", format=muxer))
        self._stack.callback(self._remove)
        self._output.flags |= cast("int", Flags.bitexact.value)  # no dates, no random identifiers
        self._stream = self._guarded(lambda: self._encoding.add_stream(self._output))
        self._stream.time_base = COUNT

    def _keep(self, packets: Sequence[Packet[VideoStream]]) -> None:
        for packet in packets:
            rank = self._ranks.pop(cast("int", packet.pts))
            number_packet(packet, rank, self._packets)
            self._output.mux_one(packet)
            self._delay = max(self._delay, self._packets - rank)
            self._packets += 1

    def _guarded(self, action: Callable[[], ResultT]) -> ResultT:
        """Do something with FFmpeg and turn its errors into ours."""
        try:
            return action()
        except (av.FFmpegError, OSError, ValueError) as error:
            raise explained(error, self._path, self._encoding.encoder) from error

    def _remove(self) -> None:
        with suppress(av.FFmpegError, ValueError):  # the file is thrown away
            self._output.close()
        self._path.unlink(missing_ok=True)

    def _discard(self) -> None:
        self._stack.close()
