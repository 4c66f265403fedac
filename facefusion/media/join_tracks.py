"""Where packets of sound and subtitles go when videos are put one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from av.packet import Packet
from av.stream import Stream

from facefusion.core.errors import OutputError
from facefusion.core.report import NotKept
from facefusion.media.copying import times_of
from facefusion.media.finished_video import FinishedTrack
from facefusion.media.sound_line import SLIP
from facefusion.media.span import Span

SILENCE = {"pcm_u8": 0x80, "pcm_alaw": 0xD5, "pcm_mulaw": 0xFF}
"""The byte of silence, by codec, where it is not 0 (ITU-T G.711 for the last two)."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where one video goes in the result, in seconds."""

    offset: Fraction
    """Of its beginning in the result."""
    span: Span
    """What is shown of it; trimmed at its start where another comes before, and at its end where one follows."""
    name: str
    """Of its file."""

    def moved(self, time: Fraction) -> Fraction:
        """A time of the video in the result."""
        return time - self.span.start + self.offset


class TrackLine(Protocol):
    """One track of the result, which takes the packets of the videos' tracks in order."""

    @property
    def notices(self) -> Sequence[str]:
        """What the user should know. Asked at the end."""

    def begin(self, place: Place) -> None:
        """The next video's packets follow."""

    def place(self, packet: Packet[Stream]) -> Iterator[Packet[Stream]]:
        """The packets for the result."""

    def finish(self) -> Iterator[Packet[Stream]]:
        """Those that are still held after the last video."""


class Overhangs:
    """How long sound goes on after its video's picture: where another video follows, that is not heard."""

    def __init__(self) -> None:
        self._seconds: dict[str, Fraction] = {}

    @property
    def notices(self) -> tuple[str, ...]:
        """What the user should know."""
        return tuple(
            NotKept(f"The sound of {name} goes on for {float(seconds):.2f} s after its picture, where the next begins.")
            for name, seconds in self._seconds.items()
            if seconds > SLIP
        )

    def note(self, place: Place, over: Fraction) -> None:
        """A packet is over at a time of its video."""
        if place.span.end is not None and over > place.span.end:
            self._seconds[place.name] = max(self._seconds.get(place.name, Fraction(0)), over - place.span.end)


class CueLine:
    """Subtitles: a cue goes on no longer than its video's picture."""

    def __init__(self, target: Stream) -> None:
        self._target = target
        self._place = Place(Fraction(0), Span(), "")

    @property
    def notices(self) -> tuple[str, ...]:
        """Nothing."""
        return ()

    def begin(self, place: Place) -> None:
        """The next video's cues follow."""
        self._place = place

    def place(self, packet: Packet[Stream]) -> Iterator[Packet[Stream]]:
        """The cue, if any of it is shown."""
        left = self._place.span.clip(*times_of(packet))
        if left is not None:
            begin, over = (round((time + self._place.offset) / packet.time_base) for time in left)
            packet.pts = packet.dts = begin
            packet.duration = over - begin
            packet.stream = self._target
            yield packet

    def finish(self) -> Iterator[Packet[Stream]]:
        """None is held."""
        return iter(())


class SoundLine:
    """Sound in packets that cannot be cut: each keeps its time, and at a joint the nearest two meet.

    Of two packets that are heard at the same time there, the one of which more is heard stays. What is there for the
    decoder alone before a video begins is left out after a joint: no container has two packets for one time. Where one
    video ends at the frame at which the next one begins in their source, the packets are those of the source, none
    missing and none twice.
    """

    def __init__(self, target: Stream, *, timed: bool) -> None:
        """Prepare.

        Args:
            target: the track of the result.
            timed: whether the container gives sound times of its own.
        """
        self._target = target
        self._timed = timed
        self._place = Place(Fraction(0), Span(), "")
        self._usual = Fraction(0)
        """Seconds that a packet lasts; the last one of a video may say less than its decoder gives."""
        self._held: Packet[Stream] | None = None
        """The last packet, until it is clear that none takes its place."""
        self._begun = Fraction(0)
        """When it begins, in the result."""
        self._over = Fraction(0)
        self._over_before = Fraction(0)
        """When the packet before it is over."""
        self._overhangs = Overhangs()

    @property
    def notices(self) -> tuple[str, ...]:
        """Which sound is left out."""
        return self._overhangs.notices

    def begin(self, place: Place) -> None:
        """The next video's packets follow."""
        self._place = place

    def place(self, packet: Packet[Stream]) -> Iterator[Packet[Stream]]:
        """The packet before, once this one follows it; nothing where this one does not."""
        span = self._place.span
        begin, over = times_of(packet)
        self._usual = max(self._usual, over - begin)
        if span.end is not None and begin >= span.end:
            self._overhangs.note(self._place, over)
            return
        moved = self._place.moved(begin)
        if span.trimmed:
            if over <= span.start or not self._makes_room(moved):
                return
            if not self._timed:
                moved = self._following(moved)
        yield from self.finish()
        self._over_before = self._over
        self._held, self._begun, self._over = packet, moved, moved + self._usual
        packet.pts = packet.dts = round(moved / packet.time_base)
        packet.stream = self._target

    def finish(self) -> Iterator[Packet[Stream]]:
        """The last packet."""
        if self._held is not None:
            yield self._held
            self._held = None

    def _makes_room(self, moved: Fraction) -> bool:
        """Whether a packet can begin at a time of the result; drops the last one where it is to take its place."""
        joint, half = self._place.offset, self._usual / 2
        if moved < joint - half:
            return False
        if self._held is None or moved >= self._over - half:
            return True
        heard = min(moved + self._usual - joint, self._usual)
        if heard <= joint - self._begun or moved < self._over_before - half:
            return False
        self._held, self._over = None, self._over_before
        return True

    def _following(self, moved: Fraction) -> Fraction:
        """When a packet is heard where it follows the one before whatever its time."""
        hole = moved - self._over
        if hole > max(SLIP, self._usual):
            raise OutputError(
                f"the result would have no sound for {float(hole):.2f} s before {self._place.name} begins, and its "
                "container cannot hold such a gap",
                "Choose an output with the extension .mp4, .mkv or .mov.",
            )
        return self._over


class SampleLine:
    """Plain samples: cut at the joints to the sample, with silence where a video has no sound."""

    def __init__(self, target: Stream, track: FinishedTrack) -> None:
        """Prepare.

        Args:
            target: the track of the result.
            track: one of those that go into it.
        """
        self._target = target
        self._rate = track.rate
        self._block = track.sample_bytes
        self._silence = bytes((SILENCE.get(track.codec, 0),)) * self._block
        self._place = Place(Fraction(0), Span(), "")
        self._overhangs = Overhangs()
        self._next: int | None = None
        """Number of the sample to come; none before the first."""

    @property
    def notices(self) -> tuple[str, ...]:
        """Which sound is left out."""
        return self._overhangs.notices

    def begin(self, place: Place) -> None:
        """The next video's samples follow."""
        self._place = place
        if self._next is None and place.offset:
            self._next = 0

    def place(self, packet: Packet[Stream]) -> Iterator[Packet[Stream]]:
        """The packet, without what lies outside of its video or was there before."""
        place = self._place
        begin = times_of(packet)[0]
        start, count = self._position(begin), packet.size // self._block
        self._overhangs.note(place, begin + Fraction(count, self._rate))
        over = start + count
        first, last = start, over
        if place.span.trimmed:
            first = max(first, self._position(place.span.start))
        if place.span.end is not None:
            last = min(last, self._position(place.span.end))
        if self._next is not None:
            first = max(first, self._next)
        if first >= last:
            return
        if self._next is not None:
            yield from self._silent(self._next, first)
        data = packet if (first, last) == (start, over) else self._cut(packet, first - start, last - start)
        yield self._timed(data, first, last - first)
        self._next = last

    def finish(self) -> Iterator[Packet[Stream]]:
        """None is held."""
        return iter(())

    def _position(self, time: Fraction) -> int:
        """The number in the result of the sample at a time of the video."""
        return round(self._place.moved(time) * self._rate)

    def _cut(self, packet: Packet[Stream], first: int, last: int) -> Packet[Stream]:
        return Packet(bytes(packet)[first * self._block : last * self._block])

    def _silent(self, first: int, last: int) -> Iterator[Packet[Stream]]:
        """Silence, a second in a packet."""
        for start in range(first, last, self._rate):
            count = min(self._rate, last - start)
            yield self._timed(Packet(self._silence * count), start, count)

    def _timed(self, packet: Packet[Stream], first: int, count: int) -> Packet[Stream]:
        packet.time_base = Fraction(1, self._rate)
        packet.pts = packet.dts = first
        packet.duration = count
        packet.is_keyframe = True
        packet.stream = self._target
        return packet
