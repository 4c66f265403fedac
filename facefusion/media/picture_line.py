"""The times of a picture's packets, reckoned over a whole result that is put together from several files."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from av.packet import Packet
from av.video.stream import VideoStream


class PictureLine:
    """Gives each packet of a result the time at which it is shown, for how long, and the time of its decoding.

    Decoding times are the presentation times, late by as much as any frame comes before its turn. They have to rise
    over the joints too, so they are reckoned over all files.

    Args:
        stamps: presentation time of each frame, in order, in units of ``time_base``.
        end: when the last frame is over, in the same units.
        delay: by how many packets a frame comes at most before its turn, in any of the files.
        time_base: in seconds.
    """

    def __init__(self, stamps: Sequence[int], end: int, delay: int, time_base: Fraction) -> None:
        self.stamps = stamps
        self.end = end
        self.time_base = time_base
        self._delay = min(delay, len(stamps) - 1)

    @property
    def length(self) -> Fraction:
        """When the last frame is over, in seconds."""
        return self.end * self.time_base

    @property
    def span(self) -> Fraction:
        """From the first frame to the beginning of the last, in seconds."""
        return (self.stamps[-1] - self.stamps[0]) * self.time_base

    @property
    def stretch(self) -> Fraction:
        """From 0 to the beginning of the last frame, in seconds."""
        return self.stamps[-1] * self.time_base

    def place(self, packet: Packet[VideoStream], number: int, rank: int) -> Fraction:
        """Set a packet's times.

        Args:
            packet: to change.
            number: of the packet in the result, in coding order.
            rank: of its frame in the result, in the order of showing.

        Returns:
            The time of its decoding, in seconds.
        """
        packet.time_base = self.time_base
        packet.pts = self.stamps[rank]
        packet.dts = self._decoding_stamp(number)
        packet.duration = self._following(rank) - self.stamps[rank]
        return packet.dts * self.time_base

    def _decoding_stamp(self, number: int) -> int:
        if number >= self._delay:
            return self.stamps[number - self._delay]
        return self.stamps[number] - (self.stamps[self._delay] - self.stamps[0])

    def _following(self, rank: int) -> int:
        return self.stamps[rank + 1] if rank + 1 < len(self.stamps) else self.end
