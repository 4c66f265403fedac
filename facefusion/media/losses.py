"""Finding frames that a decoder did not give."""

from __future__ import annotations

import heapq
from fractions import Fraction

from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

HIDING_CODECS = frozenset(("vp8",))
"""Codecs with packets of their own for frames that are never shown."""

LEAST_BYTES = {"mpeg4": 9}
"""Smaller packets of a codec say no more than that the frame before stays."""

JUMP = Fraction(1)
"""Seconds; a time that lies further back than this is another clock's, not a slip of this one."""


class Losses:
    """Compares the presentation times of packets with those of the frames that come out.

    Frames come in the order they are shown. So when one comes, the packets for an earlier time have been lost, though
    most decoders do not say so. What comes before the first frame is no loss: it cannot be decoded from where the
    stream was entered.
    """

    def __init__(self, codec: str, *, tick: Fraction, is_able: bool) -> None:
        """Begin.

        Args:
            codec: FFmpeg's name.
            tick: unit of times, in seconds.
            is_able: packets have presentation times.
        """
        self.is_able = is_able and codec not in HIDING_CODECS
        """False where packets and frames do not go together."""
        self._least_bytes = LEAST_BYTES.get(codec, 0)
        self._jump = JUMP / tick
        self._expected: list[int] = []
        self._last: int | None = None
        """Time of the last frame that came."""

    def restart(self) -> None:
        """The stream is entered elsewhere."""
        self._expected.clear()
        self._last = None

    def expect(self, packet: Packet[VideoStream]) -> None:
        """A packet goes to the decoder."""
        if packet.pts is None or self._jumps(packet.pts):
            self.is_able = False
        elif not packet.is_discard and packet.size >= self._least_bytes:
            heapq.heappush(self._expected, packet.pts)

    def take(self, frame: VideoFrame) -> int:
        """A frame came; how many before it were lost."""
        stamp = frame.pts
        if stamp is None or frame.interlaced_frame or self._jumps(stamp):  # two fields may have a packet each
            self.is_able = False
        if stamp is None or not self.is_able:
            self._expected.clear()
            return 0
        lost, last = self._drop_before(stamp), self._last
        while self._expected and self._expected[0] == stamp:
            heapq.heappop(self._expected)
        self._last = stamp
        return 0 if last is None else lost

    def finish(self) -> int:
        """The last frame came; how many were lost after it."""
        return len(self._expected) if self.is_able and self._last is not None else 0

    def _jumps(self, stamp: int) -> bool:
        """Whether another clock begins, whose times cannot be compared."""
        return self._last is not None and stamp < self._last - self._jump

    def _drop_before(self, stamp: int) -> int:
        count = 0
        while self._expected and self._expected[0] < stamp:
            heapq.heappop(self._expected)
            count += 1
        return count
