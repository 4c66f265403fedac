"""Joining finished segments with the source's other tracks into the result, without touching a picture."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import chain
from pathlib import Path
from typing import cast

import av
from av.bitstream import BitStreamFilterContext
from av.container import OutputContainer
from av.container.core import Flags
from av.packet import Packet
from av.video.stream import VideoStream

from facefusion.core.errors import OutputError
from facefusion.core.report import NotKept
from facefusion.core.stop import StopToken
from facefusion.media.container import Container, container_of
from facefusion.media.encoding import Encoding
from facefusion.media.failure import explained
from facefusion.media.finishing import AS_WRITTEN, Finishing, finish_into_place
from facefusion.media.output import part_path
from facefusion.media.picture_line import PictureLine
from facefusion.media.pixel_shape import MUXERS, keeps_shape, leave_room, write_pixel_shape
from facefusion.media.probe import MediaInfo
from facefusion.media.segment import Segment
from facefusion.media.sound_encoder import SoundSettings
from facefusion.media.sound_file import SoundFile
from facefusion.media.span import Span
from facefusion.media.tracks import TrackCopier
from facefusion.media.verify import Expected, verify_video

IN_BAND = {"h264": "h264_mp4toannexb", "hevc": "hevc_mp4toannexb"}
"""What brings parameter sets into the stream, for containers that have no other place for them."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The part of the source that the result shows, in seconds of the source."""

    start: Fraction | None = None
    """Becomes 0; where none, the time at which the source begins to play does."""
    end: Fraction | None = None
    """Where the last frame ends; where none, where the source does."""


@dataclass(frozen=True, slots=True)
class Sound:
    """What is heard."""

    settings: SoundSettings = field(default_factory=SoundSettings)
    replacement: SoundFile | None = None
    """Takes the place of the source's sound."""


AS_IT_IS = Sound()


def assemble(
    path: Path,
    segments: Sequence[Segment],
    encoding: Encoding,
    source: MediaInfo,
    cut: Cut,
    stop: StopToken,
    sound: Sound = AS_IT_IS,
    finishing: Finishing = AS_WRITTEN,
) -> tuple[str, ...]:
    """Write the result beside its name, verify it, and move it there.

    Args:
        path: the result; its extension names the container.
        segments: in order, together the whole picture.
        encoding: that they were made with.
        source: the video that the other tracks are taken from.
        cut: which part of it is shown.
        stop: asked now and then.
        sound: what is asked of the sound.
        finishing: what it says of itself.

    Returns:
        What the user should know: what could not be kept, and what was changed.

    Raises:
        SigningError: it cannot be signed; the message says where it is kept.
        OutputError: the result cannot be written, or reads back as something else.
        ResourceError: the disk is full.
        Stopped: a stop was requested; nothing was left behind.
    """
    if not segments:
        raise OutputError(f"{path} would hold no frame", "Check the target, the trim range and --output-video-fps.")
    part = part_path(path)

    def copier(output: OutputContainer, container: Container) -> TrackCopier:
        return TrackCopier(source, output, container, sound.settings, sound.replacement, finishing.tags())

    try:
        with ExitStack() as stack:
            expected, notices = _Assembly(part, path, segments, encoding, source, cut, copier, stack).write(stop)
        check = partial(verify_video, part, path, expected, stop)
        return (*notices, *finish_into_place(part, path, finishing, check, stop))
    except (av.FFmpegError, OSError, ValueError) as error:
        raise explained(error, path, encoding.encoder) from error
    finally:
        part.unlink(missing_ok=True)


class _Assembly:
    """The output container while it is written."""

    def __init__(
        self,
        part: Path,
        path: Path,
        segments: Sequence[Segment],
        encoding: Encoding,
        source: MediaInfo,
        cut: Cut,
        copier: Callable[[OutputContainer, Container], TrackCopier],
        stack: ExitStack,
    ) -> None:
        self._part = part
        self._segments = segments
        self._encoding = encoding
        self._source = source
        self._container = container_of(path)
        stamps = tuple(chain.from_iterable(segment.stamps for segment in segments))
        origin = 0
        ahead = Fraction(0)
        if cut.start is None:  # else they count from it
            origin = min(math.floor(source.origin / encoding.time_base), stamps[0])
            if self._container.sound.with_picture:
                ahead = (stamps[0] - origin) * encoding.time_base
                origin = stamps[0]
        self._line = PictureLine(
            tuple(stamp - origin for stamp in stamps),
            stamps[-1] - origin + segments[-1].last_duration,
            max(segment.delay for segment in segments),
            encoding.time_base,
        )
        self._start = cut.start if cut.start is not None else origin * encoding.time_base
        options = dict(self._container.options)
        self._output: OutputContainer = av.open(
            str(part.absolute()), "w", format=self._container.muxer, container_options=options
        )
        stack.callback(_close_quietly, self._output)
        self._output.flags |= cast("int", Flags.bitexact.value)  # no dates, no random identifiers
        self._filter: BitStreamFilterContext | None = None
        self._stream = self._add_picture()
        self._tracks = stack.enter_context(copier(self._output, self._container))
        if self._needs_room:
            leave_room(self._stream)
        span = Span(self._start, cut.end, trimmed=cut.start is not None or ahead > 0)
        self._tracks.begin(span, self._line.length, ahead)

    def write(self, stop: StopToken) -> tuple[Expected, tuple[str, ...]]:
        """Write everything; what the file has to be, and what was said on the way."""
        for number, (rank, packet) in enumerate(self._packets()):
            stop.check()
            self._tracks.advance(self._line.place(packet, number, rank) + self._start)
            packet.stream = self._stream
            self._output.mux_one(packet)
        self._tracks.finish()
        self._output.close()
        self._see_to_shape()
        self._tracks.look_for_losses(self._part)
        expected = Expected(
            frames=len(self._line.stamps),
            span=self._line.stretch if self._container.begins_at_once else self._line.span,
            tolerance=self._container.slack / self._encoding.frame_rate,
            size=self._encoding.size,
            tracks=self._tracks.filled("audio", "subtitle"),
            void_tracks=self._tracks.void("audio", "subtitle"),
        )
        return expected, tuple(self._tracks.notices)

    @property
    def _needs_room(self) -> bool:
        return self._encoding.sample_aspect != 1 and self._container.muxer in MUXERS

    def _see_to_shape(self) -> None:
        """Once the file is complete: have the shape of its pixels told in it, or say that it is not."""
        aspect = self._encoding.sample_aspect
        if self._needs_room:
            write_pixel_shape(self._part, self._encoding.size, aspect)
        elif aspect != 1 and not keeps_shape(self._part, aspect):
            self._tracks.notices.append(
                NotKept(
                    f"The output's container cannot tell that pixels of {self._source.path.name} are "
                    f"{float(aspect):.4g} times as wide as high; players show them square."
                )
            )

    def _add_picture(self) -> VideoStream:
        with av.open(str(self._segments[0].path.absolute())) as first:
            template = first.streams.video[0]
            stream = self._output.add_stream_from_template(template, opaque=True)
            if self._container.in_band:
                name = IN_BAND.get(template.codec_context.name)
                self._filter = None if name is None else BitStreamFilterContext(name, template, stream)
        context = stream.codec_context
        context.sample_aspect_ratio = self._encoding.sample_aspect
        stream.time_base = self._encoding.time_base
        context.framerate = self._encoding.frame_rate
        if self._encoding.codec_tag:
            context.codec_tag = self._encoding.codec_tag
        if self._encoding.has_alpha:
            stream.metadata["alpha_mode"] = "1"
        return stream

    def _packets(self) -> Iterator[tuple[int, Packet[VideoStream]]]:
        """All packets in coding order, each with the number of its frame in the result."""
        first = 0
        for segment in self._segments:
            with av.open(str(segment.path.absolute())) as container:
                for rank, packet in segment.packets(container):
                    for filtered in self._filter.filter(packet) if self._filter is not None else (packet,):
                        yield first + rank, filtered
            first += len(segment.stamps)


def _close_quietly(output: OutputContainer) -> None:
    with suppress(av.FFmpegError, ValueError, OSError):  # closed already, or thrown away
        output.close()
