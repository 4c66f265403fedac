"""Everything that decides what an encoder makes of given pictures, settled before the first frame."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Self

import av
from av.codec.context import Flags as CodecFlags
from av.container import OutputContainer
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from facefusion.core.errors import OutputError
from facefusion.core.values import Picture, Size
from facefusion.media.codecs import offered_formats
from facefusion.media.colour import FULL, LIMITED, UNSPECIFIED, ColourDescription
from facefusion.media.container import Container, container_of
from facefusion.media.encoder import EncoderSettings, encoder_options
from facefusion.media.frames import frame_of
from facefusion.media.pixel_format import has_alpha, nearest, working_format
from facefusion.media.probe import MediaInfo

FINEST_TICK = 1 << 31
"""Time bases with a larger denominator are not taken by every muxer."""

HEVC_IN_MP4 = {"mp4": "hvc1", "mov": "hvc1"}
"""The tag without which Apple's players show nothing."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """What the encoder is told. Equal encodings make equal packets of equal pictures, on any machine of a kind."""

    encoder: str
    options: tuple[tuple[str, str], ...]
    threads: int
    pixel_format: str
    size: Size
    """As encoded; may be smaller than the pictures by a row or column."""
    source_size: Size
    """Of the pictures."""
    time_base: Fraction
    """All presentation times are multiples of this."""
    frame_rate: Fraction
    constant_rate: bool
    """Frames have to come at exactly ``frame_rate``."""
    colour: ColourDescription
    sample_aspect: Fraction
    codec_tag: str | None
    notices: tuple[str, ...] = ()

    @classmethod
    def plan(
        cls, source: MediaInfo, size: Size, settings: EncoderSettings, path: Path, frame_rate: Fraction | None = None
    ) -> Self:
        """Settle the encoding.

        Args:
            source: the video that times, format and colour are taken from.
            size: of the pictures that will come.
            settings: what the user asked for.
            path: the result; its extension names the container.
            frame_rate: constant rate that the user asked for; where none, frames keep their times.

        Raises:
            OutputError: the container or the encoder cannot hold such pictures.
        """
        container = container_of(path)
        encoder = container.encoder_for(settings.encoder)
        notices = []
        if encoder != settings.encoder:
            notices.append(f"{path.suffix} cannot hold {settings.encoder}; {encoder} is used instead.")
        pixel_format = _choose_format(source, settings, encoder, notices)
        even = _even(size, pixel_format, encoder, path, notices)
        options = encoder_options(replace(settings, encoder=encoder)) | dict(container.encoder_options)
        is_hevc = "265" in encoder or "hevc" in encoder
        return cls(
            encoder=encoder,
            options=tuple(sorted(options.items())),
            threads=settings.threads,
            pixel_format=pixel_format,
            size=even,
            source_size=size,
            time_base=_time_base(source, container, frame_rate),
            frame_rate=frame_rate or source.frame_rate,
            constant_rate=frame_rate is not None or container.constant_rate,
            colour=source.colour,
            sample_aspect=source.sample_aspect,
            codec_tag=HEVC_IN_MP4.get(container.muxer) if is_hevc else None,
            notices=tuple(notices),
        )

    @property
    def has_alpha(self) -> bool:
        """Whether the encoded pictures have an alpha channel."""
        return has_alpha(self.pixel_format)

    def frame_of(self, picture: Picture) -> VideoFrame:
        """The frame to encode for a picture, which must not change any more."""
        return frame_of(picture, self.pixel_format, self.size, self.colour)

    def add_stream(self, output: OutputContainer) -> VideoStream:
        """Add a stream that encodes so to a container that is not yet begun.

        Raises:
            ValueError: the container does not hold what the encoder makes.
        """
        stream = output.add_stream(self.encoder, rate=self.frame_rate, options=dict(self.options))
        if not isinstance(stream, VideoStream):
            raise OutputError(f"{self.encoder} is no video encoder", "Choose another --output-video-encoder.")
        context = stream.codec_context
        context.width, context.height = self.size
        context.pix_fmt = self.pixel_format
        context.time_base = self.time_base
        context.thread_count = self.threads
        context.flags |= CodecFlags.frame_duration | CodecFlags.global_header
        context.sample_aspect_ratio = self.sample_aspect
        context.colorspace = self.colour.matrix if self.colour.matrix else UNSPECIFIED
        context.color_primaries, context.color_trc = self.colour.primaries, self.colour.transfer
        if self.colour.range in (LIMITED, FULL):
            context.color_range = self.colour.range
        return stream


def _choose_format(source: MediaInfo, settings: EncoderSettings, encoder: str, notices: list[str]) -> str:
    """The pixel format to encode; says so where the encoder differs from the wish."""
    wanted = settings.pixel_format or working_format(source.pixel_format)
    if not settings.pixel_format and wanted.startswith("bgr"):
        wanted = "yuv420p" if wanted == "bgr24" else "yuv420p10le"
    offered = offered_formats(encoder)
    chosen = nearest(wanted, offered) if offered else wanted
    if chosen != wanted and not has_alpha(wanted):
        notices.append(f"{encoder} does not take {wanted}; {chosen} is written instead.")
    return chosen


def _even(size: Size, pixel_format: str, encoder: str, path: Path, notices: list[str]) -> Size:
    """The size to encode: whole chroma samples."""
    kind = av.VideoFormat(pixel_format)
    step_x, step_y = (-(-64 // kind.chroma_width(64)), -(-64 // kind.chroma_height(64)))
    even = Size(size.width // step_x * step_x, size.height // step_y * step_y)
    if encoder == "libvpx-vp9":
        even = size
    if min(even) < 1:
        raise OutputError(f"{path} cannot be {size.width} x {size.height} pixels", "Use a larger target.")
    if even != size:
        notices.append(
            f"{encoder} takes even sizes only: {size.width} x {size.height} is cut to {even.width} x {even.height}."
        )
    return even


def _time_base(source: MediaInfo, container: Container, frame_rate: Fraction | None) -> Fraction:
    """What divides every presentation time."""
    step = 1 / (frame_rate or source.frame_rate)
    if container.constant_rate:
        return step
    if frame_rate is None:
        return source.time_base
    tick = Fraction(1, math.lcm(source.start_time.denominator, step.denominator))
    return tick if tick.denominator <= FINEST_TICK else step
