"""What is known about a file before working on it. One probe per file; nobody asks the file again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import cast

import av
from av.container import InputContainer
from av.sidedata.sidedata import SideData
from av.stream import Disposition, Stream
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from facefusion.core.errors import MediaError
from facefusion.core.formats import MediaKind
from facefusion.core.values import Size
from facefusion.media.colour import ColourDescription
from facefusion.media.hdr import HdrMetadata
from facefusion.media.image import image_facts
from facefusion.media.orientation import Orientation
from facefusion.media.pixel_format import depth_of, has_alpha
from facefusion.media.source import check_file, main_video_stream, open_source

MICROSECONDS = 1_000_000
PACKETS_TO_FIRST_FRAME = 300
"""A file whose first frame needs more packets than this is given up as damaged."""


UNKNOWN_COLOUR = ColourDescription()


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
    """As stored."""
    orientation: Orientation
    """From stored to shown. Pictures are handed out as shown and written so, without a tag."""
    pixel_format: str
    """FFmpeg's name, or Pillow's mode."""
    bit_depth: int
    colour: ColourDescription = UNKNOWN_COLOUR
    hdr: HdrMetadata | None = None
    """Of a stream of high dynamic range, where it says more than its transfer."""
    frame_rate: Fraction = Fraction(0)
    """Average, frames per second."""
    frame_count: int | None = None
    """What the header promises; damaged and cut files hold fewer. None where nothing is said."""
    duration: Fraction = Fraction(0)
    """Of the picture, in seconds; 0 where unknown."""
    start_time: Fraction = Fraction(0)
    """Presentation time of the first frame, in seconds."""
    time_base: Fraction = Fraction(1, 1000)
    """All presentation times are multiples of this."""
    sample_aspect: Fraction = Fraction(1)
    """Width over height of one pixel as shown."""
    stream: int = 0
    """Index of the video stream in the file."""
    tracks: tuple[Track, ...] = ()
    notices: tuple[str, ...] = ()
    """What the user should know about how the file is read."""


def probe(path: Path) -> MediaInfo:
    """Look into a file; its content counts, not its extension.

    Raises:
        MediaError: missing, a folder, empty, no media, or sound alone.
    """
    check_file(path)
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
        frame = _first_frame(container, stream, path)
        return _video_info(path, container, stream, frame)


def _video_info(path: Path, container: InputContainer, stream: VideoStream, frame: VideoFrame) -> MediaInfo:
    time_base = stream.time_base or Fraction(1, MICROSECONDS)
    start = Fraction(frame.pts or 0) * (frame.time_base or time_base)
    duration = _duration(container, stream, time_base, start)
    rate = stream.average_rate or stream.guessed_rate or Fraction(25)
    orientation = _orientation(frame)
    coded = Size(frame.width, frame.height)
    aspect = stream.sample_aspect_ratio or Fraction(1)
    return MediaInfo(
        path=path,
        kind=MediaKind.VIDEO,
        container=container.format.name,
        size=orientation.shown_size(coded),
        coded_size=coded,
        orientation=orientation,
        pixel_format=frame.format.name,
        bit_depth=depth_of(frame.format.name),
        colour=ColourDescription(
            int(frame.colorspace), int(frame.color_range), int(frame.color_primaries), int(frame.color_trc)
        ),
        frame_rate=rate,
        frame_count=_frame_count(stream.frames, duration, rate),
        duration=duration,
        start_time=start,
        time_base=time_base,
        sample_aspect=1 / aspect if orientation.transpose else aspect,
        stream=stream.index,
        tracks=tuple(_track(other) for other in container.streams if other.index != stream.index),
        notices=_notices(path, frame, orientation),
    )


def _first_frame(container: InputContainer, stream: VideoStream, path: Path) -> VideoFrame:
    """The first frame; packets before it that cannot be decoded are passed over."""
    stream.thread_count = 1
    for number, packet in enumerate(container.demux(stream)):
        if number > PACKETS_TO_FIRST_FRAME:
            break
        try:
            frames = packet.decode()
        except av.FFmpegError:
            continue
        if frames:
            return frames[0]
    raise MediaError(f"{path} holds no picture that can be decoded", "Check that it opens in a player.")


def _orientation(frame: VideoFrame) -> Orientation:
    try:
        attached = list(cast("Iterable[SideData]", frame.side_data))
    except ValueError:
        # PyAV lists none where it does not know one of them (EXIF, say); the angle it still tells, mirroring not.
        return Orientation.from_rotation(frame.rotation)
    matrix = next((data for data in attached if data.type.name == "DISPLAYMATRIX"), None)
    return Orientation() if matrix is None else Orientation.from_display_matrix(bytes(matrix))


def _duration(container: InputContainer, stream: VideoStream, time_base: Fraction, start: Fraction) -> Fraction:
    """Of the picture: FFmpeg counts from the stream's start time, which may lie before the first frame."""
    if stream.duration:
        hidden = max(start - stream.start_time * time_base, Fraction(0)) if stream.start_time is not None else 0
        return max(stream.duration * time_base - hidden, Fraction(0))
    if container.duration:
        begin = Fraction(container.start_time or 0, MICROSECONDS)
        return max(Fraction(container.duration, MICROSECONDS) - max(start - begin, Fraction(0)), Fraction(0))
    return Fraction(0)


def _frame_count(promised: int, duration: Fraction, rate: Fraction) -> int | None:
    """The smaller of header's count and duration times rate: an edit list hides frames that the count includes."""
    reckoned = round(duration * rate)
    counts = [count for count in (promised, reckoned) if count > 0]
    return min(counts, default=None)


def _track(stream: Stream) -> Track:
    kind = "cover" if stream.type == "video" and stream.disposition & Disposition.attached_pic else stream.type
    codec = "" if stream.type in ("attachment", "data", "unknown") else stream.codec_context.name
    return Track(stream.index, kind, codec, stream.language)


def _notices(path: Path, frame: VideoFrame, orientation: Orientation) -> tuple[str, ...]:
    notices = []
    if not orientation.upright:
        notices.append(f"{path.name} carries a rotation tag: frames are turned upright and written without the tag.")
    if has_alpha(frame.format.name):
        notices.append(f"{path.name} has an alpha channel, which a video result does not keep.")
    return tuple(notices)
