"""Reading a video, frame by frame, in its own pixel format and at its own times."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from types import TracebackType
from typing import NamedTuple, Self

from av.container import InputContainer
from av.video.frame import VideoFrame

from facefusion.core.errors import MediaError, PastEndError
from facefusion.core.values import Frame, Picture
from facefusion.media.cropping import cropped
from facefusion.media.damage import Damage
from facefusion.media.decoder_card import DAMAGED, DecoderCard
from facefusion.media.decoding import DamageMetError, Decoder
from facefusion.media.frames import checksum, picture_of
from facefusion.media.interlace import deinterlaced
from facefusion.media.nvdec import CardError
from facefusion.media.probe import MediaInfo
from facefusion.media.source import open_source
from facefusion.media.timeline import has_one_clock, presentation_times, settle

__all__ = ["Anchor", "Damage", "VideoReader", "read_frame"]

RUN_UP = Fraction(1)
"""Seconds of video decoded, at least, before a frame that is entered at, so that nothing in it depends on where
decoding began: leading frames of an open group of pictures, the deinterlacer's neighbours."""

RUN_UP_FRAMES = 16
"""The longest reach of a reference in H.264 and HEVC, in frames."""

FARTHER = 12
"""A stream without an index is entered anywhere and decodes from the next key frame on, so the run-up may have to be
this many times longer."""

FARTHEST_END = 10
"""The last frame is shown up to the end of the picture where that is at most this many frames away."""

SLACK = Fraction(1, 5)
"""Seconds that may be missing at the end."""

SHORTFALL = Fraction(1, 10)
"""Share of the promised duration that may be missing at the end."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """A frame that an earlier run has read, at which reading goes on."""

    index: int
    time: Fraction
    checksum: int
    """Of its picture, as :func:`facefusion.media.frames.checksum` gives it."""


class _Note(NamedTuple):
    """What goes along with a frame from the decoder on."""

    time: Fraction | None
    """That the file gives it."""
    length: Fraction
    """That the file gives it, in seconds; 0 where it gives none."""
    found: Damage
    """What had been found when it was decoded."""


class _Shown(NamedTuple):
    """A decoded frame, and when it is shown."""

    frame: VideoFrame
    time: Fraction
    duration: Fraction
    found: Damage
    """What had been found when it was decoded."""


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
        check: Callable[[], None] | None = None,
        card: DecoderCard | None = None,
    ) -> None:
        """Prepare to read.

        Args:
            info: what :func:`facefusion.media.probe.probe` said.
            start: index of the first frame; the first of all where none.
            end: index after the last frame; to the end where none.
            threads: decoder threads; 0 leaves it to the decoder.
            anchor: the first frame, in place of ``start``. This frame and all that follow are the same as in a pass
                from the beginning.
            check: called for each frame that is decoded and not given; may raise to stop.
            card: decodes in place of the processor, as long as that gives the same frames; none for the processor.
        """
        self.damage = Damage()
        """What was found from the first frame wanted up to the last one given."""
        self._info = info
        self._start = max(start or 0, 0)
        self._end = end
        self._threads = threads
        self._anchor = anchor
        self._check = check or _go_on
        self._card = card
        self._is_open = False
        self._is_careful = False
        """Decodes everything from the beginning on one thread, since the file is damaged."""
        self._container: InputContainer | None = None
        self._found = Damage()
        """What was found since the file was opened."""
        self._unwanted = Damage()
        """The part of it that was found before the first frame wanted."""
        self._kept = Damage()
        """What was found before the file was opened again."""
        self._told: Damage | None = None

    def __enter__(self) -> Self:
        self._is_open = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_open = False
        self._close()

    def __iter__(self) -> Iterator[Frame]:
        """Yield the frames.

        Raises:
            MediaError: not a single frame can be decoded, or the first one wanted lies behind the end.
        """
        given: tuple[int, Fraction] | None = None
        while True:
            try:
                for frame in self._frames(*(self._begin() if given is None else self._after(*given))):
                    given = frame.index, frame.time
                    yield frame
                    del frame  # whoever has it may let go of its memory
                return
            except CardError as error:
                self._leave_card(str(error))
            except DamageMetError:
                self._is_careful = not self._leave_card(DAMAGED)

    def _leave_card(self, reason: str) -> bool:
        """Have the processor decode from now on; false where it does already."""
        if self._card is None or not self._card.is_on:
            return False
        self._card.give_up(reason)
        return True

    def _frames(self, first: int, shown: Iterator[_Shown]) -> Iterator[Frame]:
        count = 0
        longest = Fraction(0)
        end = Fraction(0)
        for index, (frame, time, duration, found) in enumerate(shown, first):
            if self._end is not None and index >= self._end:
                return
            self._tell(found)
            yield Frame(index, time, self._picture(frame), duration)
            count, longest, end = count + 1, max(longest, duration), time + duration
        self._check_end(first + count, end, longest)

    def _begin(self) -> tuple[int, Iterator[_Shown]]:
        """The first frame wanted and those after it, and its index."""
        if self._anchor is not None:
            return self._from_anchor(self._anchor)
        time = self._start_time()
        entered = None if time is None else self._enter(time)
        return (self._start, entered) if entered is not None else self._counted(self._start)

    def _from_anchor(self, anchor: Anchor) -> tuple[int, Iterator[_Shown]]:
        """The anchor's frame and those after it."""
        shown = self._enter(anchor.time) if has_one_clock(self._info) else None
        first = None if shown is None else next(shown)
        if shown is not None and first is not None and self._is_at(anchor, first):
            return anchor.index, itertools.chain((first,), shown)
        _, shown = self._counted(anchor.index)
        first = next(shown, None)
        if first is None:
            raise self._changed()
        if not self._is_at(anchor, first):
            self._kept = Damage(differs=True)
        return anchor.index, itertools.chain((first,), shown)

    def _is_at(self, anchor: Anchor, shown: _Shown) -> bool:
        return shown.time == anchor.time and checksum(self._picture(shown.frame)) == anchor.checksum

    def _after(self, index: int, time: Fraction) -> tuple[int, Iterator[_Shown]]:
        """The frames after one that was given already; found by its time, since damage leaves its number in doubt."""
        kept = self.damage
        entered = self._enter(time) if has_one_clock(self._info) else None
        shown = self._shown(self._open()) if entered is None else entered
        for one in shown:
            self._check()
            if one.time >= time:
                self._kept, self._unwanted = kept, one.found
                return index + 1, shown if one.time == time else itertools.chain((one,), shown)
        raise self._changed()

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
        if self._is_careful:
            return None
        run_up = max(RUN_UP, RUN_UP_FRAMES / self._info.frame_rate)
        for reach in (run_up, run_up * FARTHER):
            entered = self._run_up_to(time, reach, latest=time - run_up / 2)
            if entered is not None:
                return entered
        return None

    def _run_up_to(self, time: Fraction, reach: Fraction, latest: Fraction) -> Iterator[_Shown] | None:
        """The frame shown at a time and those after it, if decoding begins ``latest`` when sent ``reach`` back."""
        if time - reach <= self._info.start_time:
            return None
        decoder = self._open()
        if not decoder.seek(time - reach):
            return None
        shown = self._shown(decoder)
        before = next(shown, None)
        if before is None or before.time > latest:
            return None
        for one in shown:
            self._check()
            if one.time >= time:
                self._unwanted = before.found
                return itertools.chain((one,), shown) if one.time == time else None
            before = one
        return None

    def _counted(self, index: int) -> tuple[int, Iterator[_Shown]]:
        """The frames from an index on, found by decoding all before it."""
        shown = self._shown(self._open())
        for passed in range(index):
            before = next(shown, None)
            if before is None:
                raise self._too_late(passed)
            self._unwanted = before.found
            self._check()
        return index, shown

    def _shown(self, decoder: Decoder) -> Iterator[_Shown]:
        """All frames from where the decoder stands, with their times; one frame is read ahead."""
        info = self._info
        whole = cropped(deinterlaced(self._watched(decoder.frames())), info.crop, info.coded_size)
        timed = settle(
            (((frame, note), note.time) for frame, note in whole),
            origin=info.start_time,
            step=1 / info.frame_rate,
            tick=info.time_base,
            damage=self._found,
        )
        held = next(timed, None)
        if held is None:
            return
        for following in timed:
            (frame, note), time = held
            yield _Shown(frame, time, following[1] - time, note.found)
            held = following
        (frame, note), time = held
        yield _Shown(frame, time, self._last_duration(note, time), note.found)

    def _watched(self, stamped: Iterable[tuple[VideoFrame, Fraction | None]]) -> Iterator[tuple[VideoFrame, _Note]]:
        found = replace(self._found)
        for frame, time in stamped:
            if frame.interlaced_frame and not self._info.interlaced:
                self._found.interlaced += 1
            if found != self._found:
                found = replace(self._found)
            yield frame, _Note(time, frame.duration * self._info.time_base, found)

    def _tell(self, found: Damage) -> None:
        if found is not self._told:
            self.damage, self._told = self._kept.plus(found.since(self._unwanted)), found

    def _last_duration(self, note: _Note, time: Fraction) -> Fraction:
        """How long the last frame is shown: to the end of the picture where that is known and near."""
        info = self._info
        usual = 1 / info.frame_rate
        left = info.start_time + info.duration - time
        if info.tells_duration and 0 < left <= FARTHEST_END * usual:
            return left
        return note.length if 0 < note.length <= FARTHEST_END * usual else usual

    def _picture(self, frame: VideoFrame) -> Picture:
        info = self._info
        return picture_of(frame, info.colour, info.coded_size, info.orientation)

    def _open(self) -> Decoder:
        """Stand at the beginning, with nothing read."""
        if not self._is_open:
            raise RuntimeError("a VideoReader is read inside its with block")
        self._close()
        card = self._card if self._card is not None and self._card.is_on else None
        self._container = open_source(self._info.path) if card is None else card.open()
        stream = next((one for one in self._container.streams.video if one.index == self._info.stream), None)
        if stream is None:
            raise self._changed()
        self._found, self._unwanted, self._kept, self._told = Damage(), Damage(), Damage(), None
        return Decoder(
            self._container,
            stream,
            threads=1 if self._is_careful else self._threads,
            by_order=self._info.by_order,
            damage=self._found,
            card=card,
        )

    def _close(self) -> None:
        if self._container is not None:
            self._container.close()
            self._container = None

    def _check_end(self, reached: int, end: Fraction, longest: Fraction) -> None:
        """See whether all came that was promised.

        Args:
            reached: number of frames there are.
            end: when the last one ends.
            longest: time for which one is shown.
        """
        info = self._info
        if reached == 0:
            raise MediaError(f"{info.path} holds no picture that can be decoded", "Get the file again.")
        found = replace(self._found)
        missing = info.start_time + info.duration - end
        if info.tells_duration and missing > max(SLACK, info.duration * SHORTFALL, 2 * longest):
            found.ended_early = True
        if found.ended_early:
            found.reached = reached
        self._tell(found)

    def _too_late(self, count: int) -> PastEndError:
        wanted = self._start if self._anchor is None else self._anchor.index
        return PastEndError(
            f"{self._info.path} has {count} frames, so there is no frame {wanted}", "Start at an earlier frame."
        )

    def _changed(self) -> MediaError:
        return MediaError(f"{self._info.path} has changed since it was looked at", "Start again.")


def _go_on() -> None:
    """Nobody asks to stop."""


def read_frame(info: MediaInfo, index: int) -> Frame:
    """One frame by its index, exact also between key frames.

    Raises:
        MediaError: there is no such frame.
    """
    with VideoReader(info, start=index, end=index + 1, threads=1) as reader:
        for frame in reader:
            return frame
    raise MediaError(f"{info.path} has no frame {index}", "Choose an earlier frame.")
