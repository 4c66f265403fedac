"""A file that is put together from finished videos, while it is written."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from fractions import Fraction
from pathlib import Path
from typing import cast

import av
from av.container import InputContainer, OutputContainer
from av.container.core import Flags
from av.packet import Packet
from av.stream import Stream
from av.video.stream import VideoStream

from facefusion.core.errors import OutputError
from facefusion.core.stop import StopToken
from facefusion.media.chapters import chapters_in_line
from facefusion.media.codec_header import common_header
from facefusion.media.encoding import CODEC_TAGS, FINEST_TICK
from facefusion.media.finished_video import FinishedTrack, FinishedVideo, open_as_written, packets_of
from facefusion.media.join_tracks import CueLine, Place, SampleLine, SoundLine, TrackLine
from facefusion.media.likeness import KINDS, matched_tracks
from facefusion.media.output_format import codec_of
from facefusion.media.picture_line import PictureLine
from facefusion.media.pixel_shape import MUXERS, leave_room, write_pixel_shape
from facefusion.media.sound_line import SLIP
from facefusion.media.sound_track import copied_stream
from facefusion.media.source import open_source
from facefusion.media.span import Span
from facefusion.media.tags import copy_description, told_tags
from facefusion.media.tracks import attach_cover
from facefusion.media.verify import Expected


class JoinedFile:
    """The output container.

    Args:
        path: the file to write.
        videos: whose pictures can lie in one stream.
        tags: of the file, before those of the first video.
        stack: closes the file.

    Raises:
        OutputError: their other tracks cannot be joined.
    """

    def __init__(self, path: Path, videos: Sequence[FinishedVideo], tags: Mapping[str, str], stack: ExitStack) -> None:
        self._path = path
        self._videos = videos
        self._container = videos[0].container
        self._tells_shape = videos[0].info.sample_aspect != 1 and self._container.muxer in MUXERS
        self._places = _places(videos)
        self._line = _picture_line(videos, self._places)
        self._tracks: list[TrackLine] = []
        self._filled: set[int] = set()
        """Numbers of the tracks that anything was written of."""
        self._ways: list[dict[int, int]] = [{} for _ in videos]
        """For each video, by the index of each of its tracks, the number of the track that it goes to."""
        self._covers: list[Packet[Stream]] = []
        self._output: OutputContainer = av.open(
            str(path.absolute()), "w", format=self._container.muxer, container_options=dict(self._container.options)
        )
        stack.callback(_close_quietly, self._output)
        self._output.flags |= cast("int", Flags.bitexact.value)  # no dates, no random identifiers
        self._told = tags
        self._begin(videos[0])

    def write(self, stop: StopToken) -> tuple[Expected, tuple[str, ...]]:
        """Write everything; what the file has to be, and what the user should know."""
        for packet in self._covers:
            self._output.mux_one(packet)
        first = 0
        for video, place, ways in zip(self._videos, self._places, self._ways, strict=True):
            for track in self._tracks:
                track.begin(place)
            self._copy(video, first, ways, stop)
            first += len(video.stamps)
        for number, track in enumerate(self._tracks):
            self._mux(number, track.finish())
        self._output.close()
        if self._tells_shape:
            write_pixel_shape(self._path, self._videos[0].info.size, self._videos[0].info.sample_aspect)
        expected = Expected(
            frames=len(self._line.stamps),
            span=self._line.stretch if self._container.begins_at_once else self._line.span,
            tolerance=self._container.slack / self._videos[0].info.frame_rate,
            size=self._videos[0].info.size,
            tracks=len(self._filled),
            void_tracks=len(self._tracks) - len(self._filled),
        )
        return expected, tuple(notice for track in self._tracks for notice in track.notices)

    def _copy(self, video: FinishedVideo, first: int, ways: Mapping[int, int], stop: StopToken) -> None:
        """Copy the packets of one video, whose first picture has the number ``first`` in the result."""
        ranks = iter(enumerate(video.ranks))
        with open_as_written(video.path) as source:
            streams = tuple(source.streams[index] for index in (video.info.stream, *ways))
            for packet in packets_of(source, streams, stop):
                if packet.stream.index == video.info.stream:
                    number, rank = next(ranks)
                    self._line.place(cast("Packet[VideoStream]", packet), first + number, first + rank)
                    packet.stream = self._stream
                    self._output.mux_one(packet)
                    continue
                track = ways[packet.stream.index]
                self._mux(track, self._tracks[track].place(packet))

    def _mux(self, track: int, packets: Iterator[Packet[Stream]]) -> None:
        for packet in packets:
            self._filled.add(track)
            self._output.mux_one(packet)

    def _begin(self, first: FinishedVideo) -> None:
        """Add the streams and describe them."""
        with open_source(first.path) as source:
            self._output.metadata.update(told_tags(source.metadata, self._told))
            self._stream = self._add_picture(source)
            for kind in KINDS:
                self._add_tracks(kind)
            self._add_beside(first, source)
        chapters = chapters_in_line(
            (
                (video.chapters, place.span, place.offset)
                for video, place in zip(self._videos, self._places, strict=True)
            ),
            self._told,
        )
        if chapters:
            self._output.set_chapters(chapters)

    def _add_tracks(self, kind: str) -> None:
        """Add the tracks of a kind, and note which ones of each video go to them."""
        model, matches = matched_tracks(self._videos, kind)
        with open_source(model.path) as source:
            numbers = {
                track.index: self._add_track(source.streams[track.index], track)
                for track in model.tracks
                if track.kind == kind
            }
        for ways, likes in zip(self._ways, matches, strict=True):
            ways.update({index: numbers[like] for index, like in likes.items()})

    def _add_picture(self, source: InputContainer) -> VideoStream:
        video = self._videos[0]
        template = source.streams[video.info.stream]
        stream = cast("VideoStream", self._output.add_stream_from_template(template, opaque=True))
        context = stream.codec_context
        if video.header:
            context.extradata = common_header(video.codec, [video.header for video in self._videos])
        context.framerate = video.info.frame_rate
        stream.time_base = self._line.time_base
        copy_description(template, stream, self._container.muxer, self._told)
        if self._tells_shape:
            leave_room(stream)
        if tag := CODEC_TAGS.get((codec_of(video.codec), self._container.muxer)):
            context.codec_tag = tag
        if video.info.alpha:
            stream.metadata["alpha_mode"] = "1"
        return stream

    def _add_track(self, template: Stream, track: FinishedTrack) -> int:
        """Add a track of sound or subtitles; its number among these."""
        stream = copied_stream(template, self._output)
        if stream is None:
            raise OutputError(f"FFmpeg cannot write the {track.codec} that it read", "Choose another container.")
        copy_description(template, stream, self._container.muxer, self._told)
        if track.kind == "subtitle":
            self._tracks.append(CueLine(stream))
        elif track.sample_bytes:
            stream.time_base = Fraction(1, track.rate)
            self._tracks.append(SampleLine(stream, track))
        else:
            stream.time_base = Fraction(1, track.rate)
            if track.header:
                stream.codec_context.extradata = common_header(track.codec, (track.header,))
            self._tracks.append(SoundLine(stream, timed=self._container.sound.timed))
        return len(self._tracks) - 1

    def _add_beside(self, video: FinishedVideo, source: InputContainer) -> None:
        """Take attachments and covers along, which have no time."""
        for track in video.info.tracks:
            stream = source.streams[track.index]
            if track.kind == "attachment" and self._container.attachments:
                copied_stream(stream, self._output)
            elif track.kind == "cover" and self._container.attachments:
                attach_cover(video.path, track, self._output)
            elif track.kind == "cover" and self._container.covers:
                self._add_cover(video, track.index, stream)

    def _add_cover(self, video: FinishedVideo, index: int, template: Stream) -> None:
        stream = copied_stream(template, self._output)
        if stream is None:
            return
        copy_description(template, stream, self._container.muxer, self._told)
        with open_source(video.path) as source:
            packet = next(iter(source.demux(source.streams[index])))
            packet.pts = packet.dts = 0
            packet.stream = stream
            self._covers.append(packet)


def _places(videos: Sequence[FinishedVideo]) -> list[Place]:
    """Where each video goes: to where the picture of the one before is over."""
    places: list[Place] = []
    offset = Fraction(0)
    for video in videos:
        start = _start(video) if places else min(video.info.origin, video.first)
        end = None if len(places) == len(videos) - 1 else video.over
        places.append(Place(offset, Span(start, end, trimmed=bool(places)), video.path.name))
        offset += video.over - start
    return places


def _start(video: FinishedVideo) -> Fraction:
    """When a video begins that follows another: with its first frame, unless sound is heard well before that."""
    return video.first if video.first - video.info.origin <= SLIP else video.info.origin


def _picture_line(videos: Sequence[FinishedVideo], places: Sequence[Place]) -> PictureLine:
    """The times of all frames, in a time base in which those of each video are exact, if there is one."""
    tick = Fraction(1, math.lcm(*(video.tick.denominator for video in videos)))
    if len({video.tick for video in videos}) == 1 or tick.denominator > FINEST_TICK:
        tick = videos[0].tick
    stamps = [
        round(place.moved(stamp * video.tick) / tick)
        for video, place in zip(videos, places, strict=True)
        for stamp in video.stamps
    ]
    end = round(places[-1].moved(videos[-1].over) / tick)
    return PictureLine(stamps, end, max(video.delay for video in videos), tick)


def _close_quietly(output: OutputContainer) -> None:
    with suppress(av.FFmpegError, ValueError, OSError):  # closed already, or thrown away
        output.close()
