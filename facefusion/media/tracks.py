"""Copying sound, subtitles and attachments, packet by packet, into the same file as the new picture.

Sound that the container cannot hold is encoded anew, and the user is told; other tracks it cannot hold are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from types import TracebackType
from typing import Self

import av
from av.audio.stream import AudioStream
from av.container import InputContainer, OutputContainer
from av.packet import Packet
from av.stream import AttachmentStream, Disposition, Stream

from facefusion.media.container import Container
from facefusion.media.probe import MediaInfo, Track
from facefusion.media.sound import SoundEncoder
from facefusion.media.source import open_source

COPIED = ("audio", "subtitle", "cover", "attachment")

MUXER_TAGS = frozenset(("duration", "encoder", "handler_name", "vendor_id", "creation_time"))
"""Stream tags that describe the old file, in lower case; ``creation_time`` is kept on the whole file."""


COVER_KINDS = {"mjpeg": ("jpg", "image/jpeg"), "png": ("png", "image/png")}
"""Extension and MIME type of a cover, by codec."""


class TrackCopier:
    """Feeds the other tracks of the source to the output, in step with the picture. A context manager."""

    def __init__(self, info: MediaInfo, output: OutputContainer, container: Container) -> None:
        """Add the tracks that the output's container can hold to ``output``.

        Args:
            info: of the source.
            output: not yet started.
            container: the output's kind.
        """
        self.notices: list[str] = []
        self.copied: list[Track] = []
        self._output = output
        self._sound = container.sound
        self._encoders: dict[int, SoundEncoder] = {}
        self._keeps_hidden = container.edit_lists
        self._source = open_source(info.path)
        self._targets: dict[int, Stream] = {}
        self._empty: set[int] = set()
        for track in info.tracks:
            self._add(track, info, container)
        self._packets: Iterator[Packet[Stream]] = iter(())
        self._waiting: Packet[Stream] | None = None
        self._start = Fraction(0)
        self._end: Fraction | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._source.close()

    def filled(self, *kinds: str) -> int:
        """How many tracks of these kinds hold anything. Asked after :meth:`finish`."""
        return sum(track.kind in kinds for track in self.copied if track.index not in self._empty)

    def void(self, *kinds: str) -> int:
        """How many tracks of these kinds hold nothing; some containers drop such a track."""
        return sum(track.kind in kinds for track in self.copied if track.index in self._empty)

    def begin(self, start: Fraction | None, end: Fraction | None) -> None:
        """Start to read packets.

        Args:
            start: time in the source that becomes 0; where none, all times stay as they are.
            end: time in the source after which nothing is copied.
        """
        self._start, self._end = start or Fraction(0), end
        streams = [self._source.streams[index] for index in self._targets]
        if start is not None and streams:
            self._source.seek(int(start * 1_000_000))
        self._packets = self._chosen(self._source, streams, trimmed=start is not None)
        self._waiting = next(self._packets, None)

    def advance(self, time: Fraction) -> None:
        """Write all packets of before ``time`` (in the source)."""
        while self._waiting is not None and _time(self._waiting) < time:
            packet = self._waiting
            self._waiting = next(self._packets, None)
            self._write(packet)

    def finish(self) -> None:
        """Write the packets that are left."""
        while self._waiting is not None:
            packet = self._waiting
            self._waiting = next(self._packets, None)
            self._write(packet)
        for encoder in self._encoders.values():
            self._output.mux(list(encoder.finish()))
        self.notices += [f"Track {index} holds nothing in this part of the source." for index in sorted(self._empty)]

    def _add(self, track: Track, info: MediaInfo, container: Container) -> None:
        source = self._source.streams[track.index]
        if track.kind == "cover" and container.attachments:
            self._attach_cover(track, info)
        elif track.kind not in COPIED or (track.kind in ("attachment", "cover") and not container.holds(track.kind)):
            self._leave_out(track, info)
        else:
            self._add_stream(track, source, info, container)

    def _add_stream(self, track: Track, source: Stream, info: MediaInfo, container: Container) -> None:
        copied = None if track.codec in container.refused_sound else self._copy(source)
        target = copied or self._encode_anew(track, source, info)
        if target is None:
            self._leave_out(track, info)
            return
        self.copied.append(track)
        if isinstance(source, AttachmentStream):
            return
        target.metadata.update({k: v for k, v in source.metadata.items() if k.lower() not in MUXER_TAGS})
        target.disposition = Disposition(source.disposition)
        self._targets[track.index] = target
        self._empty.add(track.index)

    def _copy(self, source: Stream) -> Stream | None:
        try:
            return self._output.add_stream_from_template(source, opaque=True)
        except ValueError:  # the container cannot hold it
            return None

    def _encode_anew(self, track: Track, source: Stream, info: MediaInfo) -> Stream | None:
        if not isinstance(source, AudioStream):
            return None
        try:
            encoder = SoundEncoder(source, self._output, self._sound)
        except ValueError:
            return None
        self._encoders[track.index] = encoder
        self.notices.append(
            f"The output's container cannot hold {track.codec}: audio track {track.index} of {info.path.name} is "
            f"encoded anew as {self._sound}."
        )
        return encoder.stream

    def _attach_cover(self, track: Track, info: MediaInfo) -> None:
        """A cover picture is an attachment where the container has them; a stream of one frame would play as video."""
        kind = COVER_KINDS.get(track.codec)
        if kind is None:
            self._leave_out(track, info)
            return
        with open_source(info.path) as container:
            packet = next(container.demux(container.streams[track.index]))
            self._output.add_attachment(f"cover.{kind[0]}", kind[1], bytes(packet))
        self.copied.append(track)

    def _leave_out(self, track: Track, info: MediaInfo) -> None:
        what = f"{track.kind} track {track.index}" + (f" ({track.codec})" if track.codec else "")
        self.notices.append(f"The output's container cannot hold the {what} of {info.path.name}; it is left out.")

    def _chosen(self, source: InputContainer, streams: list[Stream], *, trimmed: bool) -> Iterator[Packet[Stream]]:
        if not streams:
            return
        try:
            for packet in source.demux(*streams):
                if packet.size == 0 or (packet.is_discard and not self._keeps_hidden):
                    continue
                if packet.dts is None and packet.pts is None:  # a cover
                    packet.pts = packet.dts = round(self._start / packet.time_base)
                begin = _time(packet)
                over = begin + max(packet.duration or 0, 1) * packet.time_base
                if (trimmed and over <= self._start) or (self._end is not None and begin >= self._end):
                    continue
                yield packet
        except av.FFmpegError:
            self.notices.append("The sound breaks off early: the source is damaged.")

    def _write(self, packet: Packet[Stream]) -> None:
        self._empty.discard(packet.stream.index)
        if (encoder := self._encoders.get(packet.stream.index)) is not None:
            self._output.mux(list(encoder.encode(packet, self._start)))
            return
        shift = round(self._start / packet.time_base)
        if shift:
            packet.pts = None if packet.pts is None else packet.pts - shift
            packet.dts = None if packet.dts is None else packet.dts - shift
        packet.stream = self._targets[packet.stream.index]
        self._output.mux_one(packet)


def _time(packet: Packet[Stream]) -> Fraction:
    stamp = packet.dts if packet.dts is not None else packet.pts
    return (stamp or 0) * packet.time_base
