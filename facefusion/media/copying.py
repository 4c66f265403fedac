"""Copying the packets of one track, cut and moved to where the result has them."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from av.audio.stream import AudioStream
from av.packet import Packet
from av.stream import Stream

from facefusion.media.container import Container
from facefusion.media.span import Span

PRE_ROLL = Fraction(1, 10)
"""Seconds of sound before a cut that are kept, hidden, so that the decoder is in full swing at the cut: Opus asks for
80 ms, AAC and MP3 for a packet or two."""

OPUS_RATE = 48_000
OPUS_STEP = Fraction(1, 400)
"""All packets of Opus last a multiple of this (RFC 6716, 2.1.4)."""

PACKET_SAMPLES = {"ac3": 1536}
"""Where FFmpeg's decoder names no number."""


class PacketCopier:
    """Hands on the packets of one track under the times that they have in the result."""

    def __init__(self, source: Stream, target: Stream, container: Container, *, hidden_start: bool = False) -> None:
        """Prepare to copy.

        Args:
            source: where packets come from.
            target: where they go.
            container: the target's.
            hidden_start: whether packets of before 0 are left out where the container cannot hide them.
        """
        self._source = source
        self._target = target
        self._hides = container.edit_lists
        self._timed = container.sound.timed
        self._hidden_start = hidden_start
        self._span = Span()
        self._delay = _opus_delay(source)
        self._codec = source.codec_context.codec.canonical_name
        self._rate, self._length = 0, 0
        """Samples per second, and per packet where that is one number."""
        if isinstance(source, AudioStream):
            self._rate = source.codec_context.sample_rate
            self._length = source.codec_context.frame_size or PACKET_SAMPLES.get(self._codec, 0)
        self._next: int | None = None
        self._shown = False
        """A packet has come that is not only there for the decoder."""

    @property
    def notices(self) -> tuple[str, ...]:
        """What the user should know about the track: nothing."""
        return ()

    def begin(self, span: Span) -> None:
        """Start anew with the part of the source that is kept."""
        self._span = span
        self._next = None
        self._shown = False

    def write(self, packet: Packet[Stream]) -> Iterator[Packet[Stream]]:
        """The packet for the output, if it is to be there.

        An edit list of several parts lets the decoder run up to each of them, with packets whose times lie among those
        of the part before: no container can have these, and only the first run-up comes before everything.
        """
        if packet.is_discard and self._shown:
            return
        self._shown = not packet.is_discard
        begin, over = times_of(packet)
        if isinstance(self._source, AudioStream):
            kept = self._place_sound(packet, begin, over)
        else:
            kept = self._place(packet, begin, over)
        if kept:
            packet.stream = self._target
            yield packet

    def finish(self) -> Iterator[Packet[Stream]]:
        """The packets that are still held: none."""
        return iter(())

    def _place(self, packet: Packet[Stream], begin: Fraction, over: Fraction) -> bool:
        """A cue that spans a cut is shortened."""
        left = self._span.clip(begin, over)
        if left is None:
            return False
        packet.pts = packet.dts = round(left[0] / packet.time_base)
        packet.duration = round(left[1] / packet.time_base) - packet.pts
        return True

    def _place_sound(self, packet: Packet[Stream], begin: Fraction, over: Fraction) -> bool:
        """What spans the cut is kept where the container hides the excess, else left out."""
        span = self._span
        if span.end is not None and begin >= span.end:
            return False
        if self._hides:
            if span.trimmed and over <= span.start - PRE_ROLL:
                return False
        elif (span.trimmed or self._hidden_start) and begin < span.start - self._early(packet, over - begin):
            return False
        packet.pts = packet.dts = round((begin - span.start) / packet.time_base)
        if packet.time_base * self._rate > 1:
            self._sharpen(packet, begin - span.start, over - begin)
        if self._hides and span.end is not None and over > span.end:
            end = round((span.end - span.start) / packet.time_base)
            packet.duration = max(end - (packet.pts or 0), 1)
        return True

    def _early(self, packet: Packet[Stream], length: Fraction) -> Fraction:
        """How much earlier than the cut the first packet may begin where nothing can be hidden."""
        if not self._timed:
            return length / 2  # it will be taken to begin at the cut: the nearest one does best
        return self._delay + packet.time_base / 2

    def _sharpen(self, packet: Packet[Stream], time: Fraction, length: Fraction) -> None:
        """Reckon the packet's time in samples from the one before: containers that keep milliseconds blur it."""
        samples = self._samples(length, packet.time_base)
        if not samples:
            return
        stamp = round(time * self._rate)
        if self._next is not None and abs(stamp - self._next) <= packet.time_base * self._rate:
            stamp = self._next
        packet.time_base = Fraction(1, self._rate)
        packet.pts = packet.dts = stamp
        packet.duration = samples
        self._next = stamp + samples

    def _samples(self, length: Fraction, tick: Fraction) -> int:
        """How many samples a packet holds; 0 where its length does not tell."""
        if self._codec == "opus":
            steps = length / OPUS_STEP
            return round(steps * OPUS_STEP * self._rate) if steps == round(steps) else 0
        return self._length if abs(Fraction(self._length, self._rate) - length) <= tick else 0


def times_of(packet: Packet[Stream]) -> tuple[Fraction, Fraction]:
    """When a packet begins and when it is over, in seconds."""
    stamp = packet.pts if packet.pts is not None else packet.dts
    begin = (stamp or 0) * packet.time_base
    return begin, begin + max(packet.duration or 0, 1) * packet.time_base


def _opus_delay(source: Stream) -> Fraction:
    """Seconds at the beginning that a decoder of Opus throws away, from the stream's header (RFC 7845, 5.1)."""
    context = source.codec_context
    if not isinstance(source, AudioStream) or context.codec.canonical_name != "opus":
        return Fraction(0)
    header = context.extradata or b""
    return (
        Fraction(int.from_bytes(header[10:12], "little"), OPUS_RATE) if header.startswith(b"OpusHead") else Fraction(0)
    )
