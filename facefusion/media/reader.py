"""Reading a video, frame by frame, in its own pixel format and at its own times."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from types import TracebackType
from typing import NamedTuple, Self

from av.container import InputContainer
from av.video.frame import VideoFrame

from facefusion.core.errors import MediaError
from facefusion.core.values import Frame, Picture
from facefusion.media.damage import Damage
from facefusion.media.decoding import Decoder
from facefusion.media.frames import checksum, picture_of
from facefusion.media.interlace import deinterlaced
from facefusion.media.probe import MediaInfo
from facefusion.media.source import open_source
from facefusion.media.timeline import presentation_times, settle

__all__ = ["Anchor", "Damage", "VideoReader", "read_frame"]

RUN_UP = Fraction(1)
"""Seconds of video decoded, at least, before a frame that is entered at, so that nothing in it depends on where
decoding began: leading frames of an open group of pictures, the deinterlacer's neighbours."""

RUN_UP_FRAMES = 16
"""The longest reach of a reference in H.264 and HEVC, in frames."""

FARTHEST_END = 10
"""The last frame is shown up to the end of the picture where that is at most this many frames away."""

SHORTFALL = 0.9
"""A file with a smaller share of the frames that it promises is said to break off."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """A frame that an earlier run has read, at which reading goes on."""

    index: int
    time: Fraction
    checksum: int
    """Of its picture, as :func:`facefusion.media.frames.checksum` gives it."""


class _Shown(NamedTuple):
    """A decoded frame, and when it is shown."""

    frame: VideoFrame
    time: Fraction
    duration: Fraction


class VideoReader:
    """Iterates over the frames of a video in the order they are shown.

    A context manager for one pass on one thread. Frames hold the decoder's own buffers: let go of a frame and its
    memory is used again, keep it and it stays as it is. Interlaced frames come deinterlaced, times strictly increase.
    """

    def __init__(
        self,
        info: MediaInfo,
        *,
        start: int | None = None,
        end: int | None = None,
        threads: int = 0,
        anchor: Anchor | None = None,
    ) -> None:
        """Prepare to read.

        Args:
            info: what :func:`facefusion.media.probe.probe` said.
            start: index of the first frame; the first of all where none.
            end: index after the last frame; to the end where none.
            threads: decoder threads; 0 leaves it to the decoder.
            anchor: the first frame, in place of ``start``. This frame and all that follow are the same as in a pass
                from the beginning.
        """
        self.damage = Damage()
        """What was found from the first frame given on, a frame or two ahead of the last one given."""
        self._info = info
        self._start = max(start or 0, 0)
        self._end = end
        self._threads = threads
        self._anchor = anchor
        self._entered = False
        self._container: InputContainer | None = None

    def __enter__(self) -> Self:
        self._entered = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._entered = False
        self._close()

    def __iter__(self) -> Iterator[Frame]:
        """Yield the frames.

        Raises:
            MediaError: not a single frame can be decoded, or the first one wanted lies behind the end.
        """
        first, shown = self._from_anchor(self._anchor) if self._anchor is not None else self._from_start()
        count = 0
        for index, (frame, time, duration) in enumerate(shown, first):
            if self._end is not None and index >= self._end:
                return
            count += 1
            yield Frame(index, time, self._picture(frame), duration)
        self._check_end(first + count)

    def _from_start(self) -> tuple[int, Iterator[_Shown]]:
        """The first frame wanted and those after it, and its index."""
        time = self._start_time()
        entered = None if time is None else self._enter(time)
        if entered is not None:
            return self._start, entered
        return self._counted(self._start)

    def _from_anchor(self, anchor: Anchor) -> tuple[int, Iterator[_Shown]]:
        """The anchor's frame and those after it."""
        entered = self._enter(anchor.time)
        if entered is not None:
            first = next(entered)
            if checksum(self._picture(first.frame)) == anchor.checksum:
                return anchor.index, itertools.chain((first,), entered)
        index, shown = self._counted(anchor.index)
        first_counted = next(shown, None)
        if first_counted is None:
            raise self._changed()
        if first_counted.time != anchor.time or checksum(self._picture(first_counted.frame)) != anchor.checksum:
            self.damage.differs = True
        return index, itertools.chain((first_counted,), shown)

    def _start_time(self) -> Fraction | None:
        """Time of the first frame wanted; none where it is the first of all, or packets do not tell."""
        if self._start == 0:
            return None
        times = presentation_times(self._info)
        if times is None:
            return None
        if self._start >= len(times):
            raise self._too_late(len(times))
        return times[self._start]

    def _enter(self, time: Fraction) -> Iterator[_Shown] | None:
        """The frame shown at a time and those after it; none where the container cannot be entered there."""
        run_up = max(RUN_UP, RUN_UP_FRAMES / self._info.frame_rate)
        if time - run_up <= self._info.start_time:
            return None
        decoder = self._open()
        decoder.seek(time - run_up)
        shown = self._shown(decoder)
        first = next(shown, None)
        if first is None or first.time > time - run_up / 2:
            return None
        found = next((one for one in shown if one.time >= time), None)
        if found is None or found.time != time:
            return None
        self.damage.clear()
        return itertools.chain((found,), shown)

    def _counted(self, index: int) -> tuple[int, Iterator[_Shown]]:
        """The frames from an index on, found by decoding all before it."""
        shown = self._shown(self._open())
        passed = sum(1 for _ in itertools.islice(shown, index))
        if passed < index:
            raise self._too_late(passed)
        self.damage.clear()
        return index, shown

    def _shown(self, decoder: Decoder) -> Iterator[_Shown]:
        """All frames from where the decoder stands, with their times; one frame is read ahead."""
        info = self._info
        whole = deinterlaced(self._watched(decoder.frames()))
        timed = settle(whole, origin=info.start_time, step=1 / info.frame_rate, tick=info.time_base, damage=self.damage)
        held = next(timed, None)
        if held is None:
            return
        for following in timed:
            yield _Shown(*held, following[1] - held[1])
            held = following
        yield _Shown(*held, self._last_duration(*held))

    def _watched(
        self, stamped: Iterable[tuple[VideoFrame, Fraction | None]]
    ) -> Iterator[tuple[VideoFrame, Fraction | None]]:
        for frame, time in stamped:
            self.damage.frames += frame.is_corrupt
            if frame.interlaced_frame and not self._info.interlaced:
                self.damage.interlaced += 1
            yield frame, time

    def _last_duration(self, frame: VideoFrame, time: Fraction) -> Fraction:
        """How long the last frame is shown: to the end of the picture where that is known and near."""
        info = self._info
        usual = 1 / info.frame_rate
        left = info.start_time + info.duration - time
        if info.tells_duration and 0 < left <= FARTHEST_END * usual:
            return left
        own = frame.duration * info.time_base
        return own if 0 < own <= FARTHEST_END * usual else usual

    def _picture(self, frame: VideoFrame) -> Picture:
        info = self._info
        return picture_of(frame, info.colour, info.coded_size, info.orientation)

    def _open(self) -> Decoder:
        """Stand at the beginning, with nothing read."""
        if not self._entered:
            raise RuntimeError("a VideoReader is read inside its with block")
        self._close()
        self._container = open_source(self._info.path)
        stream = next((one for one in self._container.streams.video if one.index == self._info.stream), None)
        if stream is None:
            raise self._changed()
        self.damage.clear()
        return Decoder(self._container, stream, threads=self._threads, by_order=self._info.by_order, damage=self.damage)

    def _close(self) -> None:
        if self._container is not None:
            self._container.close()
            self._container = None

    def _check_end(self, reached: int) -> None:
        """See whether all came that was promised."""
        info = self._info
        if reached == 0:
            raise MediaError(f"{info.path} holds no picture that can be decoded", "Get the file again.")
        promised = info.frame_count if info.tells_duration else None
        if promised is not None and reached < promised * SHORTFALL - 1:
            self.damage.ended_early = True
        if self.damage.ended_early:
            self.damage.reached = reached

    def _too_late(self, count: int) -> MediaError:
        wanted = self._start if self._anchor is None else self._anchor.index
        return MediaError(
            f"{self._info.path} has {count} frames, so there is no frame {wanted}", "Start at an earlier frame."
        )

    def _changed(self) -> MediaError:
        return MediaError(f"{self._info.path} has changed since it was looked at", "Start again.")


def read_frame(info: MediaInfo, index: int) -> Frame:
    """One frame by its index, exact also between key frames.

    Raises:
        MediaError: there is no such frame.
    """
    with VideoReader(info, start=index, end=index + 1, threads=1) as reader:
        for frame in reader:
            return frame
    raise MediaError(f"{info.path} has no frame {index}", "Choose an earlier frame.")
