"""When each frame of a video is shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import TypeVar

import av

from facefusion.media.damage import Damage
from facefusion.media.losses import HIDING_CODECS, JUMP
from facefusion.media.probe import MediaInfo
from facefusion.media.source import open_source

ItemT = TypeVar("ItemT")

MOST_WAITING = 4
"""Frames without a time that are held back until the next one with a time; of more, only the rate is known."""

LEAP = Fraction(10)
"""Seconds; a frame that comes later than this is believed when the frame after it confirms it."""

TABLED_CONTAINERS = frozenset(("mov", "mp4", "matroska", "webm"))
"""Containers whose packets carry presentation times that nothing has to be guessed for."""


def presentation_times(info: MediaInfo) -> tuple[Fraction, ...] | None:
    """Times of all frames in seconds, in the order they are shown; nothing is decoded.

    None where the packets do not tell: AVI and broadcast streams leave times out, VP8 has packets that are never shown,
    two fields of an interlaced frame may come in a packet each. Then only decoding does.
    """
    if info.interlaced or not _is_tabled(info):
        return None
    times = []
    with open_source(info.path) as container:
        stream = container.streams[info.stream]
        if stream.codec_context.name in HIDING_CODECS:
            return None
        try:
            for packet in container.demux(stream):
                if packet.size == 0 or packet.is_discard:
                    continue
                if packet.pts is None:
                    return None
                times.append(packet.pts * packet.time_base)
        except av.FFmpegError:
            return None
    shown = sorted(time for time in times if time >= info.start_time)  # what comes before has no key frame
    return tuple(shown) if len(set(shown)) == len(shown) else None


def has_one_clock(info: MediaInfo) -> bool:
    """Whether a time names one place in the file: broadcast streams that were put together may have it twice."""
    if _is_tabled(info):
        return True
    last: Fraction | None = None
    with open_source(info.path) as container:
        try:
            for packet in container.demux(container.streams[info.stream]):
                if packet.dts is None:
                    continue
                time = packet.dts * packet.time_base
                if last is not None and time < last - JUMP:
                    return False
                last = time
        except av.FFmpegError:
            return False
    return True


def _is_tabled(info: MediaInfo) -> bool:
    return bool(TABLED_CONTAINERS & set(info.container.split(",")))


def settle(
    stamped: Iterable[tuple[ItemT, Fraction | None]],
    *,
    origin: Fraction,
    step: Fraction,
    tick: Fraction,
    damage: Damage,
) -> Iterator[tuple[ItemT, Fraction]]:
    """Give every frame a time, strictly increasing.

    A frame without a time, or with one that is not after the frame before or is far beyond the one after, is placed
    between its neighbours; where there are too many in a row, each comes ``step`` after the one before. Where the clock
    jumps back, all that follows is shifted to go on from there.

    Args:
        stamped: frames in the order they are shown, with their times in seconds.
        origin: time of the first frame, where it has none.
        step: usual time between frames.
        tick: all times are multiples of it.
        damage: is told of frames without a time and of jumps.
    """
    settler = _Settler(origin, step, tick, damage)
    waiting: list[ItemT] = []
    for item, own in _trusted(stamped):
        time = None if own is None else settler.shifted(own, len(waiting))
        if time is not None and settler.has_room(time, len(waiting)):
            yield from zip(waiting, settler.between(time, len(waiting)), strict=True)
            yield item, settler.take(time)
            waiting = []
            continue
        waiting.append(item)
        if len(waiting) >= MOST_WAITING or settler.rate_only:
            yield from zip(waiting, settler.following(len(waiting), late=time is not None), strict=True)
            waiting = []
    yield from zip(waiting, settler.following(len(waiting), late=False), strict=True)


def _trusted(stamped: Iterable[tuple[ItemT, Fraction | None]]) -> Iterator[tuple[ItemT, Fraction | None]]:
    """The frames, without the time of one that lies far ahead of both its neighbours."""
    before: Fraction | None = None
    doubtful: tuple[ItemT, Fraction] | None = None
    for item, time in stamped:
        if doubtful is not None:
            confirmed = time is None or time > doubtful[1]
            yield doubtful[0], doubtful[1] if confirmed else None
            before, doubtful = doubtful[1] if confirmed else before, None
        if time is not None and before is not None and time > before + LEAP:
            doubtful = item, time
            continue
        yield item, time
        before = before if time is None else time
    if doubtful is not None:
        yield doubtful


class _Settler:
    """Where the clock of :func:`settle` stands."""

    def __init__(self, origin: Fraction, step: Fraction, tick: Fraction, damage: Damage) -> None:
        self.rate_only = False
        """Times have run out; until one comes, nothing is worth waiting for."""
        self._tick = tick
        self._step = max(round(step / tick), 1) * tick
        self._exact_step = step
        self._damage = damage
        self._shift = Fraction(0)
        self._last = origin - tick
        self._ideal = origin - step
        self._begun = False

    def shifted(self, time: Fraction, waiting: int) -> Fraction:
        """The time on the running clock."""
        if self._begun and time + self._shift < self._last - JUMP:
            self._shift = self._last + self._step * (waiting + 1) - time
            self._damage.jumps += 1
        return time + self._shift

    def has_room(self, time: Fraction, waiting: int) -> bool:
        """Whether the time, and the frames waiting before it, come after what was shown last."""
        return not self._begun or time >= self._last + self._tick * (waiting + 1)

    def between(self, time: Fraction, count: int) -> list[Fraction]:
        """Times of frames that come before one shown at ``time``."""
        self._damage.times += count
        if not self._begun:
            return [time - self._step * (count - number) for number in range(count)]
        gap = (time - self._last) / (count + 1)
        return [self._last + gap * number // self._tick * self._tick for number in range(1, count + 1)]

    def take(self, time: Fraction) -> Fraction:
        """A frame is shown at its own time."""
        self._last = self._ideal = time
        self._begun = True
        self.rate_only = False
        return time

    def following(self, count: int, *, late: bool) -> list[Fraction]:
        """Times of frames that come at the usual rate after the last one; twice as quick while they are late."""
        self._damage.times += count
        self.rate_only = self._begun = True
        times = []
        for _ in range(count):
            self._ideal += self._exact_step / 2 if late else self._exact_step
            self._last = max(round(self._ideal / self._tick) * self._tick, self._last + self._tick)
            times.append(self._last)
        return times
