"""What is known about a file before working on it. One probe per file; nobody asks the file again."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import cast

from av.codec.context import CodecContext
from av.container import InputContainer
from av.stream import Disposition, Stream
from av.video.stream import VideoStream

from facefusion.core.formats import MediaKind
from facefusion.core.values import Size
from facefusion.media.animation.facts import AnimationFacts, animation_facts
from facefusion.media.colour import FULL, RGB, ColourDescription
from facefusion.media.container_crop import container_crop
from facefusion.media.cropping import Crop
from facefusion.media.hdr import HdrMetadata, hdr_metadata
from facefusion.media.image import image_facts
from facefusion.media.opening import Opening, look_at_opening, picture_length
from facefusion.media.orientation import Orientation
from facefusion.media.pixel_format import depth_of
from facefusion.media.source import check_file, main_video_stream, open_source

UNKNOWN_COLOUR = ColourDescription()

ANCHORED = frozenset(("mov", "mp4"))
"""Containers whose clock starts where the film does."""

MOST_TICKS = 50
"""Rate at most at which an animated image is shown where its delays cannot be kept."""

SRGB = ColourDescription(RGB, FULL, 1, 13)
"""What animated images are in."""


@dataclass(frozen=True, slots=True)
class Track:
    """A stream beside the picture: sound, subtitles, an attachment, a cover."""

    index: int
    """In the file."""
    kind: str
    """``audio``, ``subtitle``, ``attachment``, ``cover``, ``data`` or ``video`` for a second one."""
    codec: str
    language: str | None


@dataclass(frozen=True, slots=True)
class MediaInfo:
    """One image or video file. For an image the parts that speak of time are zero."""

    path: Path
    kind: MediaKind
    container: str
    """FFmpeg's name of the container, or Pillow's of the image format."""
    size: Size
    """As shown, after turning."""
    coded_size: Size
    """As stored, without what is cropped."""
    orientation: Orientation
    """From stored to shown. Pictures are handed out as shown and written so, without a tag."""
    pixel_format: str
    """FFmpeg's name, or Pillow's mode."""
    bit_depth: int
    colour: ColourDescription = UNKNOWN_COLOUR
    crop: Crop | None = None
    """What the container says is not to be shown of the stored pictures, or none."""
    hdr: HdrMetadata | None = None
    """Of a stream of high dynamic range, where it says more than its transfer."""
    alpha: bool = False
    """Pictures have an alpha channel, kept aside while they are worked on."""
    interlaced: bool = False
    """Frames are woven of two fields; they are handed out deinterlaced."""
    frame_rate: Fraction = Fraction(0)
    """Average, frames per second."""
    tick_rate: Fraction = Fraction(0)
    """The rate to write at where a container holds a constant one only: it has a place for every frame."""
    frame_count: int | None = None
    """What the header promises; damaged and cut files hold fewer. None where nothing is said."""
    duration: Fraction = Fraction(0)
    """Of the picture, in seconds; 0 where unknown."""
    tells_duration: bool = False
    """The file tells the duration of its picture. Else ``duration`` is the whole file's, which sound may stretch."""
    start_time: Fraction = Fraction(0)
    """Presentation time of the first frame, in seconds."""
    origin: Fraction = Fraction(0)
    """Presentation time at which the file begins to play, in seconds."""
    time_base: Fraction = Fraction(1, 1000)
    """All presentation times are multiples of this."""
    by_order: bool = False
    """The file tells no presentation times: frames are shown at its packets' decoding times, in order."""
    sample_aspect: Fraction = Fraction(1)
    """Width over height of one pixel as shown."""
    stream: int = 0
    """Index of the video stream in the file."""
    codec: str = ""
    """FFmpeg's name of what decodes a video; empty for animated images."""
    tracks: tuple[Track, ...] = ()
    animation: AnimationFacts | None = None
    """Of an animated image, which is read by :class:`facefusion.media.animation.AnimationReader`."""
    notices: tuple[str, ...] = ()
    """What the user should know about how the file is read."""


def probe(path: Path) -> MediaInfo:
    """Look into a file; its content counts, not its extension.

    Raises:
        MediaError: missing, a folder, empty, no media, or sound alone.
    """
    check_file(path)
    moving = animation_facts(path)
    if moving is not None:
        return _animation_info(path, moving)
    facts = image_facts(path)
    if facts is not None:
        return MediaInfo(
            path=path,
            kind=MediaKind.IMAGE,
            container=facts.format,
            size=facts.orientation.shown_size(facts.size),
            coded_size=facts.size,
            orientation=facts.orientation,
            pixel_format=facts.mode,
            bit_depth=facts.bit_depth,
            frame_count=1,
            notices=facts.notices,
        )
    with open_source(path) as container:
        stream = main_video_stream(container, path)
        return _video_info(path, container, stream, look_at_opening(container, stream, path))


def _animation_info(path: Path, facts: AnimationFacts) -> MediaInfo:
    return MediaInfo(
        path=path,
        kind=MediaKind.VIDEO,
        container=facts.format,
        size=facts.size,
        coded_size=facts.size,
        orientation=Orientation(),
        pixel_format="bgra" if facts.alpha else "bgr24",
        bit_depth=8,
        colour=SRGB,
        alpha=facts.alpha,
        frame_rate=facts.frames / facts.duration,
        tick_rate=max(facts.frames / facts.duration, min(1 / min(facts.durations), Fraction(MOST_TICKS))),
        frame_count=facts.frames,
        duration=facts.duration,
        tells_duration=True,
        time_base=Fraction(1, math.lcm(*(duration.denominator for duration in facts.durations))),
        animation=facts,
    )


def _video_info(path: Path, container: InputContainer, stream: VideoStream, opening: Opening) -> MediaInfo:
    frame, orientation = opening.first, opening.orientation
    length, is_told = picture_length(container, stream, opening.start)
    rate = opening.frame_rate(stream)
    coded = Size(frame.width, frame.height)
    crop = _crop(path, container, stream, coded, frame.format.name)
    coded = coded if crop is None else crop.size_of(coded)
    aspect = stream.sample_aspect_ratio or Fraction(1)
    return MediaInfo(
        path=path,
        kind=MediaKind.VIDEO,
        container=container.format.name,
        size=orientation.shown_size(coded),
        coded_size=coded,
        orientation=orientation,
        crop=crop,
        pixel_format=frame.format.name,
        bit_depth=depth_of(frame.format.name),
        colour=ColourDescription(
            int(frame.colorspace), int(frame.color_range), int(frame.color_primaries), int(frame.color_trc)
        ),
        hdr=hdr_metadata(opening.attached),
        alpha=opening.alpha,
        interlaced=opening.interlaced,
        frame_rate=rate,
        tick_rate=opening.tick_rate(stream),
        frame_count=_frame_count(stream.frames, length, rate),
        duration=length,
        tells_duration=is_told,
        start_time=opening.start,
        origin=_origin(container, opening.start),
        time_base=opening.tick,
        by_order=opening.by_order,
        sample_aspect=1 / aspect if orientation.transpose else aspect,
        stream=stream.index,
        codec=stream.codec_context.name,
        tracks=tuple(_track(other) for other in container.streams if other.index != stream.index),
        notices=tuple(_notices(path, orientation, crop, interlaced=opening.interlaced)),
    )


def _frame_count(promised: int, duration: Fraction, rate: Fraction) -> int | None:
    """The smaller of header's count and duration times rate: an edit list hides frames that the count includes."""
    reckoned = round(duration * rate)
    counts = [count for count in (promised, reckoned) if count > 0]
    return min(counts, default=None)


def _origin(container: InputContainer, start: Fraction) -> Fraction:
    """When the file begins to play, if its picture starts at ``start``.

    QuickTime's clock starts at 0, also where nothing is shown at first. Elsewhere a clock starts anywhere: that of a
    broadcast has run for hours. Sound of before 0 is there for the decoder alone, unless the picture begins there too.
    """
    if ANCHORED & set(container.format.name.split(",")):
        return min(start, Fraction(0))
    sounds = ((stream.start_time, stream.time_base) for stream in container.streams.audio)
    begins = [time * tick for time, tick in sounds if time is not None and tick is not None]
    return min((start, *begins) if start < 0 else (start, *(max(begin, Fraction(0)) for begin in begins)))


def _track(stream: Stream) -> Track:
    kind = "cover" if stream.type == "video" and stream.disposition & Disposition.attached_pic else stream.type
    context = cast("CodecContext | None", stream.codec_context)  # none of attachments, and of codecs without decoder
    codec = "" if context is None or stream.type in ("data", "unknown") else context.name
    return Track(stream.index, kind, codec, stream.language)


def _crop(path: Path, container: InputContainer, stream: VideoStream, stored: Size, pixel_format: str) -> Crop | None:
    moving = [other.index for other in container.streams.video if not other.disposition & Disposition.attached_pic]
    number = moving.index(stream.index)
    crop = container_crop(path, container.format.name, track=stream.id, number=number, stored=stored)
    crop = None if crop is None else crop.on_samples(pixel_format)
    return crop if crop is not None and crop.fits(stored) else None


def _notices(path: Path, orientation: Orientation, crop: Crop | None, *, interlaced: bool) -> Iterator[str]:
    if not orientation.upright:
        yield f"{path.name} carries a rotation tag: frames are turned upright and written without the tag."
    if crop is not None:
        yield f"{path.name} shows a part of its stored pictures only: the rest is cropped, as players do."
    if interlaced:
        yield f"{path.name} is interlaced: its frames are deinterlaced, one picture for each, and written progressive."
