"""A finished video as it lies in its file: when its frames are shown, and what its packets have to be decoded with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, count, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Self, cast

from av.audio.stream import AudioStream
from av.container import InputContainer
from av.container.core import Flags
from av.packet import Packet
from av.stream import Stream

from facefusion.core.errors import MediaError
from facefusion.core.formats import MediaKind
from facefusion.core.stop import StopToken
from facefusion.media.codec_header import comparable
from facefusion.media.colour import ColourDescription
from facefusion.media.container import Container, container_of
from facefusion.media.probe import MediaInfo, probe
from facefusion.media.source import open_source

if TYPE_CHECKING:
    from av.container.core import Chapter


@dataclass(frozen=True, slots=True)
class FinishedTrack:
    """A track of sound or subtitles."""

    index: int
    """In the file."""
    kind: str
    codec: str
    language: str | None
    rate: int = 0
    """Samples per second, of sound."""
    layout: str = ""
    """Of the sound's channels."""
    sample_bytes: int = 0
    """Of one sample of all channels, where sound is kept as plain samples."""
    header: bytes = b""
    """The codec's own."""

    @classmethod
    def of(cls, stream: Stream) -> Self:
        """A track of an open file."""
        context = stream.codec_context
        codec, header = context.codec.canonical_name, context.extradata or b""
        if not isinstance(stream, AudioStream):
            return cls(stream.index, stream.type, codec, stream.language, header=header)
        sound = stream.codec_context
        block = sound.format.bytes * sound.layout.nb_channels if codec.startswith("pcm_") else 0
        return cls(
            stream.index, stream.type, codec, stream.language, sound.sample_rate, sound.layout.name, block, header
        )

    @property
    def traits(self) -> dict[str, object]:
        """What has to be the same in two tracks that become one, by what to call it."""
        if self.kind == "subtitle":
            return {"codec": self.codec}
        return {
            "codec": self.codec,
            "sample rate": f"{self.rate} Hz",
            "channel layout": self.layout,
            "decoder settings": comparable(self.codec, self.header),
        }


@dataclass(frozen=True, slots=True)
class FinishedVideo:
    """A video that this program wrote."""

    path: Path
    info: MediaInfo
    codec: str
    header: bytes
    """The codec's own."""
    container: Container
    tick: Fraction
    """Seconds."""
    stamps: tuple[int, ...]
    """When each frame is shown, in order, in ticks of the file."""
    ranks: tuple[int, ...]
    """The number of each packet's frame in that order, in the order of coding."""
    last_duration: int
    """How long the last frame is shown, in ticks."""
    tracks: tuple[FinishedTrack, ...]
    chapters: tuple[Chapter, ...]

    @classmethod
    def read(cls, path: Path, stop: StopToken) -> Self:
        """Look through a file; nothing is decoded but its first frames.

        Raises:
            MediaError: it is no video.
            OutputError: its extension names no container that can be written.
            Stopped: a stop was requested.
        """
        container, info = container_of(path), probe(path)
        if info.kind is not MediaKind.VIDEO or info.animation is not None:
            raise MediaError(f"{path} is no video", "Name videos only.")
        with open_as_written(path) as source:
            stream = source.streams.video[_number_of(source, info.stream)]
            packets = [(stamp_of(packet), packet.duration or 0) for packet in packets_of(source, (stream,), stop)]
            codec, header = stream.codec_context.codec.canonical_name, stream.codec_context.extradata or b""
            tracks = tuple(
                FinishedTrack.of(source.streams[track.index])
                for track in info.tracks
                if track.kind in ("audio", "subtitle") and track.codec
            )
            chapters = tuple(source.chapters())
            tick = cast("Fraction", stream.time_base)
        step = max(round(1 / info.frame_rate / tick), 1)
        times = _filled([stamp for stamp, _ in packets], step)
        order = sorted(range(len(times)), key=times.__getitem__)
        ranks = [0] * len(times)
        for rank, number in enumerate(order):
            ranks[number] = rank
        stamps = tuple(times[number] for number in order)
        last = packets[order[-1]][1] or step
        return cls(path, info, codec, header, container, tick, stamps, tuple(ranks), last, tracks, chapters)

    @property
    def first(self) -> Fraction:
        """When the first frame is shown, in seconds."""
        return self.stamps[0] * self.tick

    @property
    def over(self) -> Fraction:
        """When the last frame is over, in seconds."""
        return (self.stamps[-1] + self.last_duration) * self.tick

    @property
    def delay(self) -> int:
        """By how many packets a frame comes at most before its turn."""
        return max(number - rank for number, rank in enumerate(self.ranks))

    @property
    def traits(self) -> dict[str, object]:
        """What has to be the same in two videos that become one, by what to call it."""
        info = self.info
        traits: dict[str, object] = {
            "container": self.container.muxer,
            "codec": self.codec,
            "size": f"{info.size.width} x {info.size.height}",
            "pixel format": info.pixel_format,
            "pixel aspect": f"{info.sample_aspect.numerator}:{info.sample_aspect.denominator}",
            "colour description": _told(info.colour),
        }
        if self.container.constant_rate:
            traits["frame rate"] = f"{float(info.frame_rate):.6g}"
        if not self.container.in_band:
            traits["encoder settings"] = comparable(self.codec, self.header)
        return traits


def open_as_written(path: Path) -> InputContainer:
    """Open a file so that packets which tell their time of decoding only are given no other one.

    PyAV would have FFmpeg take the next packet's.

    Raises:
        MediaError: it cannot be read.
    """
    source = open_source(path)
    source.flags &= ~cast("int", Flags.gen_pts.value)
    return source


def packets_of(source: InputContainer, streams: tuple[Stream, ...], stop: StopToken) -> Iterator[Packet[Stream]]:
    """The packets of some streams, in the order of the file; those that only end a stream are left out.

    Raises:
        Stopped: a stop was requested.
    """
    for packet in source.demux(*streams):
        stop.check()
        if packet.size:
            yield packet


def stamp_of(packet: Packet[Stream]) -> int | None:
    """When a packet is shown, in its ticks: in files that tell times of decoding only, these are it."""
    return packet.pts if packet.pts is not None else packet.dts


def _filled(stamps: Sequence[int | None], step: int) -> list[int]:
    """Times of all packets: those without one are placed where the others, a step apart, leave room.

    Of the frames that begin in one packet of a program stream, only the first has a time.
    """
    known = sorted(stamp for stamp in stamps if stamp is not None)
    if len(known) == len(stamps):
        return [stamp for stamp in stamps if stamp is not None]
    holes = (one + step * place for one, later in pairwise(known) for place in range(1, round((later - one) / step)))
    room = chain(holes, count(known[-1] + step if known else 0, step))
    return [next(room) if stamp is None else stamp for stamp in stamps]


def _number_of(source: InputContainer, index: int) -> int:
    return next(number for number, stream in enumerate(source.streams.video) if stream.index == index)


def _told(colour: ColourDescription) -> str:
    return f"matrix {colour.matrix}, range {colour.range}, primaries {colour.primaries}, transfer {colour.transfer}"
