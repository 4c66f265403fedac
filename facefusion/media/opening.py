"""What the first frames of a video say about all of it; headers are estimates."""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from av.container import InputContainer
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.stream import VideoStream
from PIL import Image, UnidentifiedImageError

from facefusion.core.errors import MediaError
from facefusion.media.damage import Damage
from facefusion.media.decoding import Decoder
from facefusion.media.orientation import Orientation
from facefusion.media.pixel_format import has_alpha
from facefusion.media.side_data import side_data_of

FRAMES = 8
"""Frames that are looked at."""

MOST_FAILURES = 300
"""A file of which more packets than this fail before the first frame is given up."""

USUAL_RATE = Fraction(25)
"""Frames per second, where neither header nor frames tell."""

VARIES = Fraction(21, 20)
"""Where the shortest frames come this much faster than the average, the rate counts as variable."""

FASTEST = 240
"""Frames per second that a video of variable rate is taken to have at most."""

DOUBT = 2
"""A header's rate is not believed where frames lie apart by more or less than this many times what it says."""

NUMBERED_BY_DECODING = frozenset(("avi",))
"""Containers that number packets as they are decoded, of which FFmpeg guesses when they are shown. Others that do so
give themselves away: presentation times that rise in the order of decoding, of frames that are shown in another."""

IMAGE_CODECS = frozenset(("mjpeg", "png", "webp"))
"""Codecs whose packets are images of their own, with EXIF in them."""

EXIF_ORIENTATION = 274

LENGTH_TAG = re.compile(r"(\d+):(\d+):(\d+(?:\.\d+)?)")
"""Matroska's note of a track's length, hours to fractions of a second."""

STATISTICS_TAG = "_STATISTICS_WRITING_APP"
"""Left by writers whose note counts from the track's own beginning."""


@dataclass(frozen=True, slots=True)
class Opening:
    """The first frames of a stream."""

    first: VideoFrame
    tick: Fraction
    """Seconds; all times are multiples of it."""
    start: Fraction
    """When the first frame is shown, in seconds."""
    by_order: bool
    """The file has no times but those of decoding."""
    interlaced: bool
    orientation: Orientation
    alpha: bool
    gaps: tuple[Fraction, ...]
    """Seconds between the frames; empty where their times are of no use."""
    attached: tuple[Mapping[str, bytes], ...]
    """What FFmpeg attaches to each frame."""

    def frame_rate(self, stream: VideoStream) -> Fraction:
        """Frames per second on average: as the header says, unless the frames make that unbelievable."""
        said = [rate for rate in (stream.average_rate, stream.guessed_rate) if rate and rate > 0]
        if not self.gaps:
            return said[0] if said else USUAL_RATE
        if stream.frames and stream.duration and said:
            return said[0]  # a mean over all frames, which may vary
        mean = sum(self.gaps, Fraction(0)) / len(self.gaps)
        believed = (rate for rate in said if min(self.gaps) / DOUBT <= 1 / rate <= mean * DOUBT)
        return next(believed, 1 / mean)

    def tick_rate(self, stream: VideoStream) -> Fraction:
        """The least rate that has a place for every frame, as far as header and opening tell; at least the average."""
        average = self.frame_rate(stream)
        shortest = min(self.gaps, default=1 / average)
        for rate in (stream.guessed_rate, 1 / shortest):
            if rate and average * VARIES < rate <= FASTEST and 1 / rate <= shortest * VARIES:
                return rate
        return average


def look_at_opening(container: InputContainer, stream: VideoStream, path: Path) -> Opening:
    """Decode the first frames; packets before them that cannot be decoded are passed over.

    Raises:
        MediaError: there is no frame.
    """
    damage = Damage()
    decoder = Decoder(container, stream, threads=1, by_order=False, damage=damage)
    frames = _frames(decoder, damage)
    first, time = next(frames, (None, None))
    if first is None:
        raise MediaError(f"{path} holds no picture that can be decoded", "Check that it opens in a player.")
    codec = stream.codec_context.name
    times, marks, attached = [time], [first.interlaced_frame], [side_data_of(first, codec)]
    for frame, later in itertools.islice(frames, FRAMES - 1):
        times.append(later)
        marks.append(frame.interlaced_frame)
        attached.append(side_data_of(frame, codec))
    rises = all(one is not None and other is not None and one < other for one, other in itertools.pairwise(times))
    by_order = not rises and (decoder.packets_rise or container.format.name in NUMBERED_BY_DECODING)
    packet = decoder.first_packet
    first_turn = (packet.dts or 0) * decoder.tick if packet is not None else Fraction(0)
    return Opening(
        first=first,
        tick=decoder.tick,
        start=first_turn if by_order or time is None else time,
        by_order=by_order,
        interlaced=any(marks),
        orientation=_orientation(first, attached[0], codec, packet),
        alpha=_is_clear_somewhere(first) if first.format.name == "pal8" else has_alpha(first.format.name),
        gaps=_gaps(times) if rises else (),
        attached=tuple(data for data in attached if data is not None),
    )


def picture_length(container: InputContainer, stream: VideoStream, start: Fraction) -> tuple[Fraction, bool]:
    """Duration of the picture in seconds, 0 where unknown, and whether it is the picture's own.

    FFmpeg counts from the stream's start time, which may lie before the first frame.

    Args:
        container: the file.
        stream: of it.
        start: when the first frame is shown.
    """
    tick = stream.time_base or Fraction(1, av.time_base)
    if stream.duration:
        begin = start if stream.start_time is None else stream.start_time * tick
        return max(begin + stream.duration * tick - max(start, begin), Fraction(0)), True
    tag = LENGTH_TAG.match(stream.metadata.get("DURATION", ""))
    if tag is not None:
        length = int(tag[1]) * 3600 + int(tag[2]) * 60 + Fraction(tag[3])
        length -= 0 if STATISTICS_TAG in stream.metadata else max(start, Fraction(0))
        if length > 0:
            return length, True
    if container.duration:
        begin = Fraction(container.start_time or 0, av.time_base)
        return max(Fraction(container.duration, av.time_base) - max(start - begin, Fraction(0)), Fraction(0)), False
    return Fraction(0), False


def _frames(decoder: Decoder, damage: Damage) -> Iterator[tuple[VideoFrame, Fraction | None]]:
    """Frames, until too many packets have failed."""
    for frame in decoder.frames():
        if damage.lost > MOST_FAILURES:
            return
        yield frame


def _gaps(times: Sequence[Fraction | None]) -> tuple[Fraction, ...]:
    known = [time for time in times if time is not None]
    return tuple(later - one for one, later in itertools.pairwise(known))


def _orientation(
    frame: VideoFrame, attached: Mapping[str, bytes] | None, codec: str, packet: Packet[VideoStream] | None
) -> Orientation:
    """From the display matrix; where it cannot be read, from EXIF or, mirroring left aside, from FFmpeg's angle."""
    if attached is not None:
        matrix = attached.get("DISPLAYMATRIX")
        return Orientation() if matrix is None else Orientation.from_display_matrix(matrix)
    if codec in IMAGE_CODECS and packet is not None:
        try:
            with Image.open(io.BytesIO(bytes(packet))) as image:
                return Orientation.from_exif(image.getexif().get(EXIF_ORIENTATION, 1))
        except (UnidentifiedImageError, OSError, SyntaxError):
            return Orientation.from_rotation(frame.rotation)
    return Orientation.from_rotation(frame.rotation)


def _is_clear_somewhere(frame: VideoFrame) -> bool:
    """Whether a palette has a colour that is not opaque, and it is used."""
    return bool(np.asarray(frame.reformat(format="bgra").to_ndarray())[..., 3].min() < 255)
