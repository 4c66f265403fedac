"""Reading the tracks of one file and writing them into the result, in step with the picture."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from typing import Protocol

import av
from av.container import InputContainer, OutputContainer
from av.packet import Packet
from av.stream import Discard, Stream

from facefusion.media.copying import times_of
from facefusion.media.losses import JUMP
from facefusion.media.span import Span
from facefusion.media.timeline import TABLED_CONTAINERS

SOUND_LOOKBACK = 2
"""Seconds before a cut from which a file is read: sound may lie apart from its picture."""

CUE_LOOKBACK = 15
"""The same where there are subtitles, which stay for a while."""

MICROSECONDS = 1_000_000


class TrackWriter(Protocol):
    """Turns the packets of one track into those of the result."""

    @property
    def notices(self) -> tuple[str, ...]:
        """What the user should know. Asked after :meth:`finish`."""

    def begin(self, span: Span) -> None:
        """Start with the part of the source that is kept."""

    def write(self, packet: Packet[Stream]) -> Iterator[Packet[Stream]]:
        """Packets for the output."""

    def finish(self) -> Iterator[Packet[Stream]]:
        """Those that were still held."""


class TrackFeed:
    """Takes packets from one file, as far as the picture has come, and hands them to their tracks' writers."""

    def __init__(self, source: InputContainer, output: OutputContainer) -> None:
        """Prepare to read.

        Args:
            source: from here on, nobody else reads it.
            output: what the writers' packets go to.
        """
        self._source = source
        self._output = output
        self._writers: dict[int, TrackWriter] = {}
        self._packets: Iterator[Packet[Stream]] = iter(())
        self._waiting: Packet[Stream] | None = None
        self._span = Span()
        self._has_one_clock = bool(TABLED_CONTAINERS & set(source.format.name.split(",")))
        self._clocks: dict[int, _Clock] = {}
        self.empty: set[int] = set()
        """Tracks that nothing was written of so far."""
        self.damaged = False
        """Whether the file broke off in an error."""

    @property
    def notices(self) -> list[str]:
        """What the writers have to say. Asked after :meth:`finish`."""
        return [notice for writer in self._writers.values() for notice in writer.notices]

    def add(self, track: int, writer: TrackWriter) -> None:
        """Read a track too; before :meth:`begin`."""
        self._writers[track] = writer
        self.empty.add(track)

    def begin(self, span: Span) -> None:
        """Start with the part of the file that is kept."""
        self._span = span
        for writer in self._writers.values():
            writer.begin(span)
        if not self._writers:
            return
        streams = [self._source.streams[index] for index in self._writers]
        lookback = CUE_LOOKBACK if any(stream.type == "subtitle" for stream in streams) else SOUND_LOOKBACK
        if span.trimmed and span.start > lookback and self._has_one_clock:
            with suppress(av.FFmpegError):  # no index: it is read from its beginning
                self._source.seek(int((span.start - lookback) * MICROSECONDS))
        for stream in self._source.streams:
            if stream.index not in self._writers:
                stream.discard = Discard.all
        self._packets = self._read(streams)
        self._waiting = next(self._packets, None)

    def advance(self, time: Fraction) -> None:
        """Write all packets of before ``time``, in seconds of the result."""
        while self._waiting is not None and times_of(self._waiting)[0] - self._span.start < time:
            self._write_one()

    def finish(self) -> None:
        """Write all packets that are left."""
        while self._waiting is not None:
            self._write_one()
        for index, writer in self._writers.items():
            self._mux(index, writer.finish())

    def _write_one(self) -> None:
        packet = self._waiting
        if packet is not None:
            self._waiting = next(self._packets, None)
            index = packet.stream.index
            self._mux(index, self._writers[index].write(packet))

    def _mux(self, index: int, packets: Iterator[Packet[Stream]]) -> None:
        for packet in packets:
            self.empty.discard(index)
            self._output.mux_one(packet)

    def _read(self, streams: list[Stream]) -> Iterator[Packet[Stream]]:
        end, over = self._span.end, set[int]()
        try:
            for packet in self._source.demux(*streams):
                if packet.size == 0:
                    continue
                if packet.pts is None and packet.dts is None:  # a cover
                    packet.pts = packet.dts = round(self._span.start / packet.time_base)
                if not self._has_one_clock:
                    self._clocks.setdefault(packet.stream.index, _Clock()).correct(packet)
                if end is not None and times_of(packet)[0] >= end:
                    over.add(packet.stream.index)
                    if len(over) == len(streams):
                        return
                    continue
                yield packet
        except av.FFmpegError:
            self.damaged = True


class _Clock:
    """The clock of one track of a file that may be several recordings put together, each with a clock of its own.

    Where it jumps back, all that follows is shifted to go on from there, as the picture is.
    """

    def __init__(self) -> None:
        self._shift = Fraction(0)
        self._last: Fraction | None = None
        self._end = Fraction(0)

    def correct(self, packet: Packet[Stream]) -> None:
        """Give a packet its times on the running clock."""
        begin, over = times_of(packet)
        if self._last is not None and begin + self._shift < self._last - JUMP:
            self._shift = self._end - begin
        ticks = round(self._shift / packet.time_base)
        packet.pts = None if packet.pts is None else packet.pts + ticks
        packet.dts = None if packet.dts is None else packet.dts + ticks
        self._last, self._end = begin + self._shift, over + self._shift
