"""Encoding a video with the times, sound and tags of its source, and giving it its name once it is verified."""

from __future__ import annotations

import errno
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar, cast

import av
from av.codec.context import Flags as CodecFlags
from av.container import OutputContainer
from av.container.core import Flags
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from facefusion.core.errors import FaceFusionError, OutputError, ResourceError
from facefusion.core.values import Frame, Size
from facefusion.media.codecs import offered_formats
from facefusion.media.colour import FULL, LIMITED, UNSPECIFIED
from facefusion.media.container import container_of
from facefusion.media.encoder import EncoderSettings, encoder_options
from facefusion.media.frames import frame_of
from facefusion.media.output import move_into_place, part_path
from facefusion.media.pixel_format import has_alpha, nearest, working_format
from facefusion.media.probe import MediaInfo
from facefusion.media.tracks import TrackCopier
from facefusion.media.verify import Expected, verify_video

ResultT = TypeVar("ResultT")

FILE_TAGS = frozenset(("major_brand", "minor_version", "compatible_brands", "encoder", "software"))
"""Tags that describe the old file, in lower case."""

HEVC_IN_MP4 = {"mp4": "hvc1", "mov": "hvc1"}
"""The tag without which Apple's players show nothing."""


class VideoWriter:
    """Writes frames, in order, beside the final name; :meth:`finish` gives it the name.

    A context manager. Leaving it without :meth:`finish`, by an error or a stop, removes the unfinished file; whatever
    lies under the final name is untouched until then. Same frames, settings and source give the same bytes.
    """

    def __init__(
        self,
        path: Path,
        source: MediaInfo,
        size: Size,
        settings: EncoderSettings,
        *,
        start: Fraction | None = None,
        end: Fraction | None = None,
    ) -> None:
        """Prepare to write.

        Args:
            path: the result; its extension names the container.
            source: the video that times, colour, tags and the other tracks are taken from.
            size: of the pictures that will come.
            settings: of the encoder.
            start: time of the first frame in the source where it is not the first of all: it becomes 0.
            end: time in the source where the last frame ends, where it is not the end.

        Raises:
            OutputError: the path cannot be written to.
        """
        self.notices: list[str] = []
        self._path = path
        self._part = part_path(path)
        self._source = source
        self._container_kind = container_of(path)
        self._settings = settings
        self._start, self._end = start, end
        self._encoder = self._container_kind.encoder_for(settings.encoder)
        self._format = self._choose_format()
        self._size = self._even(size)
        self._time_base = 1 / source.frame_rate if self._container_kind.constant_rate else source.time_base
        self._stack = ExitStack()
        self._held: tuple[VideoFrame, Fraction] | None = None
        self._count = 0
        self._last_time: Fraction | None = None
        self._last_stamp: int | None = None

    def __enter__(self) -> Self:
        try:
            self._open()
        except BaseException:
            self._discard()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._discard()

    def write(self, frame: Frame) -> None:
        """Encode one frame; it must come later than the one before. Its picture must not change any more.

        Raises:
            OutputError: the encoder or the disk refuses it.
        """
        encoded = frame_of(frame.picture, self._format, self._size, self._source.colour)
        time = frame.time - (self._start or 0)
        if self._held is not None:
            self._encode(*self._held, time - self._held[1])
        self._held = (encoded, time)
        self._last_time = frame.time
        self._guarded(lambda: self._tracks.advance(frame.time))

    def finish(self) -> Path:
        """Complete the file, verify it, and move it to its name.

        Raises:
            OutputError: nothing was written, or the file is not what was meant.
        """
        if self._held is None:
            raise OutputError(f"{self._path} would hold no frame", "Check the target and the trim range.")
        last_duration = self._last_duration()
        self._encode(*self._held, last_duration)
        duration = self._held[1] + last_duration - self._first_time
        self._held = None
        self._guarded(lambda: self._output.mux(self._stream.encode(None)))
        self._guarded(self._tracks.finish)
        self._guarded(self._output.close)
        self.notices.extend(self._tracks.notices)
        expected = Expected(
            frames=self._count,
            duration=duration,
            tolerance=self._container_kind.slack / self._source.frame_rate,
            size=self._size,
            tracks=self._tracks.filled("audio", "subtitle"),
            void_tracks=self._tracks.void("audio", "subtitle"),
        )
        verify_video(self._part, self._path, expected)
        move_into_place(self._part, self._path)
        return self._path

    def _choose_format(self) -> str:
        """The pixel format to encode; says so where it differs from the source's or the encoder from the wish."""
        if self._encoder != self._settings.encoder:
            self.notices.append(
                f"{self._path.suffix} cannot hold {self._settings.encoder}; {self._encoder} is used instead."
            )
        named = self._settings.pixel_format.removeprefix("source")
        wanted = named or working_format(self._source.pixel_format)
        if not named and wanted.startswith("bgr"):
            wanted = "yuv420p" if wanted == "bgr24" else "yuv420p10le"
        offered = offered_formats(self._encoder)
        chosen = nearest(wanted, offered) if offered else wanted
        if chosen != wanted and not has_alpha(wanted):
            self.notices.append(f"{self._encoder} does not take {wanted}; {chosen} is written instead.")
        return chosen

    def _even(self, size: Size) -> Size:
        """The size to encode: whole chroma samples."""
        kind = av.VideoFormat(self._format)
        step_x, step_y = (-(-64 // kind.chroma_width(64)), -(-64 // kind.chroma_height(64)))
        even = Size(size.width // step_x * step_x, size.height // step_y * step_y)
        if self._encoder == "libvpx-vp9":
            even = size
        if min(even) < 1:
            raise OutputError(f"{self._path} cannot be {size.width} x {size.height} pixels", "Use a larger target.")
        if even != size:
            self.notices.append(
                f"{self._encoder} takes even sizes only: {size.width} x {size.height} is cut to "
                f"{even.width} x {even.height}."
            )
        return even

    def _open(self) -> None:
        kind = self._container_kind
        self._part.unlink(missing_ok=True)
        self._output: OutputContainer = self._guarded(
            lambda: av.open(str(self._part), "w", format=kind.muxer, container_options=dict(kind.options))
        )
        self._stack.callback(self._close_quietly)
        self._output.flags |= cast("int", Flags.bitexact.value)  # no dates, no random identifiers
        self._output.metadata.update(self._file_tags())
        self._stream = self._guarded(self._add_stream)
        self._tracks = self._stack.enter_context(TrackCopier(self._source, self._output, kind))
        self._tracks.begin(self._start, self._end)

    def _file_tags(self) -> dict[str, str]:
        with av.open(str(self._source.path.absolute()), metadata_errors="replace") as source:
            chapters = source.chapters()
            if chapters and self._start is None:
                self._output.set_chapters(chapters)
            return {key: value for key, value in source.metadata.items() if key.lower() not in FILE_TAGS}

    def _add_stream(self) -> VideoStream:
        settings, source = self._settings, self._source
        options = encoder_options(replace(settings, encoder=self._encoder)) | dict(self._container_kind.encoder_options)
        stream = self._output.add_stream(self._encoder, rate=source.frame_rate, options=options)
        if not isinstance(stream, VideoStream):
            raise OutputError(f"{self._encoder} is no video encoder", "Choose another output_video_encoder.")
        context = stream.codec_context
        context.width, context.height = self._size
        context.pix_fmt = self._format
        context.time_base = stream.time_base = self._time_base
        context.thread_count = settings.threads
        context.flags |= CodecFlags.frame_duration
        context.sample_aspect_ratio = source.sample_aspect
        colour = source.colour
        context.colorspace = colour.matrix if colour.matrix else UNSPECIFIED
        context.color_primaries, context.color_trc = colour.primaries, colour.transfer
        if colour.range in (LIMITED, FULL):
            context.color_range = colour.range
        if "265" in self._encoder or "hevc" in self._encoder:
            context.codec_tag = HEVC_IN_MP4.get(self._container_kind.muxer, context.codec_tag)
        return stream

    def _encode(self, frame: VideoFrame, time: Fraction, duration: Fraction) -> None:
        if self._count == 0:
            self._first_time = time
        frame.time_base = self._time_base
        stamp = round(time / self._time_base)
        if self._last_stamp is not None and stamp <= self._last_stamp:
            stamp = self._last_stamp + 1  # two frames within one tick of a container of constant rate
        frame.pts = self._last_stamp = stamp
        frame.duration = max(round(duration / self._time_base), 1)
        frame.pict_type = 0
        self._guarded(lambda: self._output.mux(self._stream.encode(frame)))
        self._count += 1

    def _last_duration(self) -> Fraction:
        """How long the last frame shows: to the end of the source's picture where that is known and near."""
        length = 1 / self._source.frame_rate
        if self._container_kind.constant_rate:
            return length
        end = self._end if self._end is not None else self._source.start_time + self._source.duration
        left = end - (self._last_time or Fraction(0))
        return left if 0 < left <= 10 * length else length

    def _guarded(self, action: Callable[[], ResultT]) -> ResultT:
        """Do something with FFmpeg and turn its errors into ours."""
        try:
            return action()
        except (av.FFmpegError, OSError, ValueError) as error:
            raise self._explained(error) from error

    def _explained(self, error: Exception) -> FaceFusionError:
        """What FFmpeg's error means to the user."""
        number = getattr(error, "errno", None)
        if number in (errno.ENOSPC, errno.EDQUOT):
            return ResourceError(f"{self._path}: the disk is full", "Free some space, or choose another output folder.")
        if number == errno.ENOMEM:
            return ResourceError(
                f"{self._path}: there is no memory left for {self._encoder}",
                "Raise --system-memory-limit, or close other programs.",
            )
        reason = getattr(error, "strerror", None) or error
        return OutputError(
            f"{self._path} cannot be written with {self._encoder} ({reason})",
            "Choose another --output-video-encoder or container.",
        )

    def _close_quietly(self) -> None:
        with suppress(av.FFmpegError, ValueError):  # the file is thrown away
            self._output.close()

    def _discard(self) -> None:
        self._held = None
        self._stack.close()
        self._part.unlink(missing_ok=True)
