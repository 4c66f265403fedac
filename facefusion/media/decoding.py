"""Decoding the picture of an open file, from where it stands."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from fractions import Fraction

import av
from av.codec.context import ThreadType
from av.container import InputContainer
from av.packet import Packet
from av.video.codeccontext import VideoCodecContext
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from facefusion.media.damage import Damage
from facefusion.media.decoder_card import DecoderCard
from facefusion.media.losses import Losses

ALPHA_DECODERS = {"vp8": "libvpx", "vp9": "libvpx-vp9"}
"""Decoders that give the alpha channel, where FFmpeg's own for the codec leave it out."""


class DamageMetError(Exception):
    """Something damaged was met in a pass whose frames would no longer be those of every other pass.

    What comes out of damaged data depends on what was decoded before and, with several threads, on chance. Only one
    thread that has decoded everything from the beginning gives the same frames each time. A graphics card patches up
    damage in its own way.
    """


class Decoder:
    """Gives the frames of a stream in the order they are shown, each with the time that the file gives it.

    One thread at a time. What cannot be decoded is counted and passed over.
    """

    def __init__(
        self,
        container: InputContainer,
        stream: VideoStream,
        *,
        threads: int,
        by_order: bool,
        damage: Damage,
        card: DecoderCard | None = None,
    ) -> None:
        """Prepare to decode.

        Args:
            container: open, and not yet read from.
            stream: of it.
            threads: of the decoder; 0 leaves it to the decoder.
            by_order: the file gives no presentation times: frames are shown at the decoding times, in order.
            damage: is told of frames that are lost or patched up, and of an early end.
            card: that opened the container and decodes; none where the processor does.

        Raises:
            CardError: the card does not decode the stream.
        """
        self.first_packet: Packet[VideoStream] | None = None
        """The first that was read."""
        self.packets_rise = True
        """Every packet read has a presentation time after the one before."""
        self._container = container
        self._stream = stream
        self._by_order = by_order
        self._damage = damage
        self._planar = None if card is None else card.in_order()
        self._context = _processor_context(stream) if card is None else card.context(stream)
        self._context.thread_type = ThreadType.AUTO
        self._context.thread_count = threads if card is None else 1  # of the processor, which only parses then
        self._must_be_sound = threads != 1 or card is not None
        self._failed = False
        self._recovers = False
        """The stream was entered in its middle, and no sound frame has come yet: what is wrong is due to that."""
        self._last_stamp: int | None = None
        self._turns: deque[Fraction | None] = deque()
        """Decoding times of packets whose frames have not come yet."""
        self._leaves_holes = self._context.codec.intra_only
        """Nothing conceals damage of such codecs: in its place is whatever lay in memory."""
        self._losses = Losses(stream.codec_context.name, tick=self.tick, is_able=not by_order)

    def seek(self, time: Fraction) -> bool:
        """Go to the last key frame before a time in seconds, as far as the container knows them; false if it cannot."""
        try:
            self._container.seek(math.floor(time / self.tick), stream=self._stream)
        except av.FFmpegError:
            return False
        self._context.flush_buffers()
        self._turns.clear()
        self._losses.restart()
        self._must_be_sound = self._recovers = True
        return True

    def frames(self) -> Iterator[tuple[VideoFrame, Fraction | None]]:
        """All frames from here on; with a time in seconds where the file gives one.

        Raises:
            DamageMetError: something is damaged, and there are several threads, the stream was entered in its middle,
                or a card decodes. All frames given so far are sound.
            CardError: the card does not decode the stream after all; likewise.
        """
        if not self._must_be_sound:
            yield from self._decoded()
            return
        held: deque[tuple[VideoFrame, Fraction | None]] = deque()
        for frame in self._decoded():
            held.append(frame)
            # a frame may refer to one that is shown, and found damaged, later by this much
            if len(held) > self._context.reorder_depth:
                self._check()
                yield held.popleft()
        self._check()
        yield from held

    @property
    def tick(self) -> Fraction:
        """Seconds of which all times are multiples."""
        return self._stream.time_base or Fraction(1, av.time_base)

    def _decoded(self) -> Iterator[tuple[VideoFrame, Fraction | None]]:
        for packet in self._packets():
            try:
                frames = self._context.decode(packet)
            except av.FFmpegError:
                if not self._recovers:
                    self._failed = True
                    self._damage.lost += not self._losses.is_able
                if self._turns:
                    self._turns.popleft()
                continue
            for frame in frames if self._planar is None else map(self._planar, frames):
                if packet is None:
                    frame.time_base = self.tick  # PyAV takes it from the packet
                time = self._time(frame)
                self._damage.lost += self._losses.take(frame)
                if frame.is_corrupt and self._leaves_holes:
                    self._damage.lost += 1
                    continue
                self._recovers &= frame.is_corrupt
                self._damage.frames += frame.is_corrupt and not self._recovers
                yield frame, time
        self._damage.lost += self._losses.finish()

    def _packets(self) -> Iterator[Packet[VideoStream] | None]:
        """What goes to the decoder; none at the end, which makes it give out what it holds back."""
        try:
            for packet in self._container.demux(self._stream):
                if not packet.size:
                    continue
                self._look_at(packet)
                yield packet
        except av.FFmpegError:
            self._damage.ended_early = True
        yield None

    def _look_at(self, packet: Packet[VideoStream]) -> None:
        self.first_packet = self.first_packet or packet
        stamp, last = packet.pts, self._last_stamp
        self.packets_rise &= stamp is not None and (last is None or stamp > last)
        # The processor's decoder says what became of such a packet; a card patches it up without a word.
        self._failed |= self._planar is not None and packet.is_corrupt
        self._last_stamp = stamp
        self._losses.expect(packet)
        if self._by_order:
            self._turns.append(None if packet.dts is None else packet.dts * self.tick)

    def _time(self, frame: VideoFrame) -> Fraction | None:
        if self._by_order:
            return self._turns.popleft() if self._turns else None
        return None if frame.pts is None else frame.pts * self.tick

    def _check(self) -> None:
        if self._failed or self._damage.lost or self._damage.frames:
            raise DamageMetError


def _processor_context(stream: VideoStream) -> VideoCodecContext:
    return _alpha_context(stream) or stream.codec_context


def _alpha_context(stream: VideoStream) -> VideoCodecContext | None:
    """The context that decodes the alpha channel of WebM; none where the stream has no such channel."""
    name = ALPHA_DECODERS.get(stream.codec_context.name)
    tags = {key.lower(): value for key, value in stream.metadata.items()}  # Matroska's own tags are in capitals
    if name is None or tags.get("alpha_mode") != "1":
        return None
    context = av.CodecContext.create(name, "r")
    return context if isinstance(context, VideoCodecContext) else None
