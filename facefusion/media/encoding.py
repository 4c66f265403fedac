"""Everything that decides what an encoder makes of given pictures, settled before the first frame."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Self

import av
import cv2
from av.codec.context import Flags as CodecFlags
from av.container import OutputContainer
from av.video.stream import VideoStream

from facefusion.core.errors import OutputError
from facefusion.core.formats import is_moving_image
from facefusion.core.report import NotKept
from facefusion.core.values import Size
from facefusion.media.codecs import card_options, is_external
from facefusion.media.colour import FULL, LIMITED, PQ, UNSPECIFIED, ColourDescription
from facefusion.media.container import Container, container_of
from facefusion.media.encoder import ENCODER_THREADS, RAW, EncoderSettings, encoder_options, encoder_threads
from facefusion.media.hdr_options import hdr_options
from facefusion.media.output_format import OutputFormat, choose_format, codec_of, lossless_format
from facefusion.media.pixel_format import has_alpha
from facefusion.media.probe import MediaInfo
from facefusion.media.rendering import FrameRenderer
from facefusion.media.tonemap import ToneMap

LOSSLESS = "ffv1"
"""What keeps frames until they are drawn into an animated image."""

FINEST_TICK = 1 << 31
"""Time bases with a larger denominator are not taken by every muxer."""

ODD_SIZES = ("libvpx-vp9", "libsvtav1")
"""Encoders that take a last odd column or row, with chroma of its own, in subsampled formats too."""

LEAST_SIDES = {"libx265": 16, "libsvtav1": 4}
"""Least width and height, where an encoder has any."""

MOST_SIDES = {
    "libx264": Size(16384, 16384),
    "libx264rgb": Size(16384, 16384),
    "libvpx-vp9": Size(65536, 65536),
    "libsvtav1": Size(16384, 8704),
}
"""Greatest width and height, where an encoder has any: larger ones were tried, and it did not open."""
MOST_BYTES = (1 << 31) - 1
"""Of a picture as FFmpeg reckons before it knows the format (``av_image_check_size``): 8 for each pixel and margin."""
MARGIN = 128
"""Pixels of it on the right and below."""

AVX_512F = 13
"""OpenCV's number of the instruction set (``CV_CPU_AVX_512F``), for which its Python module has no name."""

QUIET = {"libsvtav1": ("SVT_LOG", "1")}
"""Environment variable without which an encoder writes about itself to the terminal; 1 leaves errors."""

CODEC_TAGS = {("HEVC", "mp4"): "hvc1", ("HEVC", "mov"): "hvc1", (None, "avi"): "I420"}
"""Tags that the muxer would not choose, by codec: without them Apple's players show no HEVC, and none raw video."""


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
    """Of the encoded pictures."""
    source_colour: ColourDescription
    tone_map: ToneMap | None
    external: bool
    """The encoder is one of the ``ffmpeg`` on the path."""
    sample_aspect: Fraction
    codec_tag: str | None
    notices: tuple[str, ...] = ()
    device: int | None = field(default=None, repr=False, compare=False)
    """Number of the NVIDIA card that encodes, where one does: where it is done, and no part of what is made."""

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
        if is_moving_image(path):
            return cls._for_animation(source, size, settings, frame_rate)
        container = container_of(path)
        encoder = container.encoder_for(settings.encoder)
        notices = []
        if encoder != settings.encoder:
            notices.append(f"{path.suffix} cannot hold {settings.encoder}; {encoder} is used instead.")
        usual = source.tick_rate if container.constant_rate else source.frame_rate
        wanted = frame_rate or usual or source.frame_rate
        rate = container.rate_for(wanted)
        if rate != wanted:
            notices.append(
                f"{path.suffix} has no {float(wanted):.6g} frames per second; it is written at {float(rate):.6g}."
            )
        form = choose_format(source, size, settings.pixel_format, encoder, container)
        notices += form.notices
        encoded_size = _encoded_size(size, form.name, encoder, path, notices)
        settings = replace(settings, encoder=encoder)
        options = encoder_options(settings) | dict(container.encoder_options)
        options = _with_picture_options(options, source, form, encoder, notices)
        return cls(
            encoder=encoder,
            options=tuple(sorted(options.items())),
            threads=encoder_threads(settings, encoded_size),
            pixel_format=form.name,
            size=encoded_size,
            source_size=size,
            time_base=_time_base(source, container, rate if rate != source.frame_rate else frame_rate),
            frame_rate=rate,
            constant_rate=frame_rate is not None or container.constant_rate,
            colour=form.colour,
            source_colour=source.colour,
            tone_map=form.tone_map,
            external=is_external(encoder),
            sample_aspect=source.sample_aspect,
            codec_tag=CODEC_TAGS.get((codec_of(encoder), container.muxer)),
            notices=tuple(notices),
        )

    @classmethod
    def _for_animation(
        cls, source: MediaInfo, size: Size, settings: EncoderSettings, frame_rate: Fraction | None
    ) -> Self:
        """Without loss: the frames wait to be drawn into an animated image."""
        form = lossless_format(source, size)
        return cls(
            encoder=LOSSLESS,
            options=(),
            threads=settings.threads or ENCODER_THREADS,
            pixel_format=form.name,
            size=size,
            source_size=size,
            time_base=source.time_base if frame_rate is None else _tick(source, frame_rate),
            frame_rate=frame_rate or source.frame_rate,
            constant_rate=frame_rate is not None,
            colour=form.colour,
            source_colour=source.colour,
            tone_map=form.tone_map,
            external=False,
            sample_aspect=Fraction(1),
            codec_tag=None,
            notices=form.notices,
        )

    @property
    def has_alpha(self) -> bool:
        """Whether the encoded pictures have an alpha channel."""
        return has_alpha(self.pixel_format)

    @property
    def segment_muxer(self) -> str:
        """FFmpeg's muxer for a part of the result; Matroska holds all but raw video, NUT all but alpha."""
        return "nut" if self.encoder == RAW else "matroska"

    def renderer(self) -> FrameRenderer:
        """What makes the frames to encode."""
        return FrameRenderer(
            self.pixel_format,
            self.size,
            self.colour,
            tone_map=self.tone_map,
            source_colour=self.source_colour,
        )

    def add_stream(self, output: OutputContainer) -> VideoStream:
        """Add a stream that encodes so to a container that is not yet begun.

        Raises:
            ValueError: the container does not hold what the encoder makes.
        """
        if self.encoder in QUIET:
            os.environ.setdefault(*QUIET[self.encoder])
        options = _repeatable(self.encoder, dict(self.options)) | card_options(self.encoder, self.device)
        stream = output.add_stream(self.encoder, rate=self.frame_rate, options=options)
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


def _repeatable(encoder: str, options: dict[str, str]) -> dict[str, str]:
    """The options, and where the machine has AVX-512, one that keeps x264 from using it.

    Measured with the x264 that PyAV 18 brings: its AVX-512 code for macroblock trees reads memory that nobody wrote, so
    equal frames now and then give other packets. Up to AVX2 all gave the same packets, in 5 to 9 % more time.
    """
    if not encoder.startswith("libx264") or not cv2.checkHardwareSupport(AVX_512F):
        return options
    told = options.get("x264-params")
    return options | {"x264-params": "asm=avx2" if told is None else f"{told}:asm=avx2"}


def _with_picture_options(
    options: dict[str, str], source: MediaInfo, form: OutputFormat, encoder: str, notices: list[str]
) -> dict[str, str]:
    """The options, and what the encoder has to be told of the picture; says what it cannot be told."""
    if form.chroma_location is not None:
        options = options | {"chroma_sample_location": form.chroma_location}
    hdr = source.hdr
    if hdr is None or form.tone_map is not None:
        return options
    lost = list(hdr.dynamic)
    if hdr.mastering is not None or hdr.light is not None:
        told = hdr_options(encoder, hdr, options) if source.colour.transfer == PQ else None
        lost += ["HDR10's mastering display and light levels"] if told is None else []
        options = options if told is None else told
    if lost:
        notices.append(
            NotKept(f"{encoder} cannot be told these data of {source.path.name}, so not kept: {', '.join(lost)}.")
        )
    return options


def _encoded_size(size: Size, pixel_format: str, encoder: str, path: Path, notices: list[str]) -> Size:
    """The size to encode: whole chroma samples, where the encoder wants them."""
    kind = av.VideoFormat(pixel_format)
    step_x, step_y = (-(-64 // kind.chroma_width(64)), -(-64 // kind.chroma_height(64)))
    whole = Size(size.width // step_x * step_x, size.height // step_y * step_y)
    if encoder in ODD_SIZES:
        whole = size
    check_size(whole, encoder, path)
    least = LEAST_SIDES.get(encoder, 1)
    if min(whole) < least:
        raise OutputError(
            f"{path} cannot be {size.width} x {size.height} pixels"
            + (f": {encoder} wants at least {least} x {least}" if least > 1 else ""),
            "Use a larger target" + (" or another --output-video-encoder." if least > 1 else "."),
        )
    if whole != size:
        cut = f"{size.width} x {size.height} is cut to {whole.width} x {whole.height}"
        notices.append(NotKept(f"{encoder} takes even sizes only: {cut}."))
    return whole


def check_size(size: Size, encoder: str, path: Path) -> None:
    """Refuse pictures that are too large for an encoder.

    Args:
        size: to encode.
        encoder: FFmpeg's name.
        path: the result, for the message.

    Raises:
        OutputError: they are.
    """
    most = MOST_SIDES.get(encoder)
    if most is not None and (size.width > most.width or size.height > most.height):
        reason = f"{encoder} takes {most.width} x {most.height} at the most"
    elif 8 * (size.width + MARGIN) * (size.height + MARGIN) > MOST_BYTES:
        reason = "FFmpeg takes no video of so many pixels"
    else:
        return
    raise OutputError(f"{path} cannot be {size.width} x {size.height} pixels: {reason}", "Ask for a smaller result.")


def _time_base(source: MediaInfo, container: Container, frame_rate: Fraction | None) -> Fraction:
    """What divides every presentation time."""
    step = 1 / (frame_rate or source.frame_rate)
    if container.constant_rate:
        return step
    return source.time_base if frame_rate is None else _tick(source, frame_rate)


def _tick(source: MediaInfo, frame_rate: Fraction) -> Fraction:
    """What divides the time of each frame at a constant rate from the source's start on."""
    step = 1 / frame_rate
    tick = Fraction(1, math.lcm(source.start_time.denominator, step.denominator))
    return tick if tick.denominator <= FINEST_TICK else step
