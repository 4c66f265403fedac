"""Decoding a video, frame by frame, in its own pixel format."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from types import TracebackType
from typing import Self, cast

import av
from av.codec.context import ThreadType
from av.container import InputContainer
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from facefusion.core.errors import MediaError
from facefusion.core.values import Frame
from facefusion.media.frames import picture_of
from facefusion.media.probe import MediaInfo
from facefusion.media.source import open_source
from facefusion.media.timeline import presentation_times


@dataclass(slots=True)
class Damage:
    """What went wrong while reading; all zero for a sound file."""

    packets: int = 0
    """Packets that could not be decoded; their frames are missing."""
    frames: int = 0
    """Frames that the decoder marks as patched up."""
    ended_early: bool = False
    """The data broke off before what the header promises."""

    @property
    def notice(self) -> str | None:
        """What to tell the user; none for a sound file."""
        parts = []
        if self.packets:
            parts.append(f"{self.packets} packets could not be decoded")
        if self.frames:
            parts.append(f"{self.frames} frames are damaged and were patched up by the decoder")
        if self.ended_early:
            parts.append("the file breaks off before the end that its header promises")
        return "; ".join(parts) if parts else None


class VideoReader:
    """Iterates over the frames of a video in the order they are shown.

    A context manager for one pass on one thread. Frames hold the decoder's own buffers: let go of a frame and its
    memory is used again, keep it and it stays as it is.
    """

    def __init__(self, info: MediaInfo, *, start: int | None = None, end: int | None = None, threads: int = 0) -> None:
        """Prepare to read.

        Args:
            info: what :func:`facefusion.media.probe.probe` said.
            start: index of the first frame; the first of all where none.
            end: index after the last frame; to the end where none.
            threads: decoder threads; 0 leaves it to the decoder.
        """
        self.damage = Damage()
        self._info = info
        self._start = max(start or 0, 0)
        self._end = end
        self._threads = threads
        self._container: InputContainer | None = None

    def __enter__(self) -> Self:
        self._container = open_source(self._info.path)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._container is not None:
            self._container.close()
            self._container = None

    def __iter__(self) -> Iterator[Frame]:
        """Yield the frames.

        Raises:
            MediaError: not a single frame can be decoded, or the first one wanted lies behind the end.
        """
        index, frames = self._from_near_start()
        count = 0
        for frame, time in frames:
            if self._end is not None and index >= self._end:
                return
            if index >= self._start:
                yield self._frame(index, time, frame)
                count += 1
            index += 1
        self._check_end(index, count)

    def _from_near_start(self) -> tuple[int, Iterator[tuple[VideoFrame, Fraction]]]:
        """Decoded frames from the first one wanted on, or all of them, and the index of the first of these."""
        wanted = self._start_time()
        if wanted is None:
            return 0, self._decoded()
        stream = self._stream()
        self._opened().seek(math.floor(wanted / (stream.time_base or self._info.time_base)), stream=stream)
        frames = itertools.dropwhile(lambda decoded: decoded[1] < wanted, self._decoded())
        first = next(frames, None)
        if first is not None and first[1] == wanted:
            return self._start, itertools.chain((first,), frames)
        self._opened().close()  # this container cannot be entered at a given time: count from its beginning
        self._container = open_source(self._info.path)
        self.damage = Damage()
        return 0, self._decoded()

    def _start_time(self) -> Fraction | None:
        """Time of the first frame wanted; none where it is the first of all, or packets do not tell."""
        if self._start == 0:
            return None
        times = presentation_times(self._info)
        if times is None or len(set(times)) != len(times):
            return None
        if self._start >= len(times):
            raise MediaError(
                f"{self._info.path} has {len(times)} frames, so there is no frame {self._start}",
                "Start at an earlier frame.",
            )
        return times[self._start]

    def _opened(self) -> InputContainer:
        if self._container is None:
            raise RuntimeError("a VideoReader is read inside its with block")
        return self._container

    def _stream(self) -> VideoStream:
        stream = self._opened().streams[self._info.stream]
        if not isinstance(stream, VideoStream):
            raise MediaError(f"{self._info.path} has changed since it was looked at", "Start again.")
        return stream

    def _decoded(self) -> Iterator[tuple[VideoFrame, Fraction]]:
        """All frames from where the container stands, with their times."""
        stream = self._stream()
        if not stream.codec_context.is_open:
            stream.thread_type = ThreadType.AUTO
            stream.thread_count = self._threads
        last: Fraction | None = None
        for packet in self._packets(stream):
            try:
                frames = packet.decode()
            except av.FFmpegError:
                self.damage.packets += 1
                continue
            for frame in frames:
                self.damage.frames += frame.is_corrupt
                last = self._time(frame, last)
                yield frame, last

    def _packets(self, stream: VideoStream) -> Iterator[Packet[VideoStream]]:
        try:
            yield from self._opened().demux(stream)
        except av.FFmpegError:
            self.damage.ended_early = True
            yield cast("Packet[VideoStream]", Packet())  # drains the decoder

    def _time(self, frame: VideoFrame, last: Fraction | None) -> Fraction:
        """Presentation time; where the file gives none, or one that goes back, a frame's length after the last."""
        if frame.pts is not None:
            time = frame.pts * (frame.time_base or self._info.time_base)
            if last is None or time > last:
                return time
        step = 1 / self._info.frame_rate
        return self._info.start_time if last is None else last + step

    def _frame(self, index: int, time: Fraction, frame: VideoFrame) -> Frame:
        info = self._info
        return Frame(index, time, picture_of(frame, info.colour, info.coded_size, info.orientation))

    def _check_end(self, index: int, count: int) -> None:
        if count == 0 and self._start == 0:
            raise MediaError(f"{self._info.path} holds no picture that can be decoded", "Get the file again.")
        promised = self._info.frame_count
        if promised is not None and index < promised * 0.9 - 1:
            self.damage.ended_early = True


def read_frame(info: MediaInfo, index: int) -> Frame:
    """One frame by its index, exact also between key frames.

    Raises:
        MediaError: there is no such frame.
    """
    with VideoReader(info, start=index, end=index + 1, threads=1) as reader:
        for frame in reader:
            return frame
    raise MediaError(f"{info.path} has no frame {index}", "Choose an earlier frame.")
