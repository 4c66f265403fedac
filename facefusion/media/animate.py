"""Drawing finished segments into an animated image."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from facefusion.core.report import NotKept
from facefusion.core.stop import StopToken
from facefusion.core.values import Frame
from facefusion.media.animation import write_animation
from facefusion.media.encoding import Encoding
from facefusion.media.finishing import AS_WRITTEN, Finishing
from facefusion.media.image import read_image_with_details
from facefusion.media.probe import MediaInfo, probe
from facefusion.media.reader import VideoReader
from facefusion.media.segment import Segment


@dataclass(frozen=True, slots=True)
class Drawing:
    """How an animated image is written."""

    quality: int
    """0..100, where the format loses anything."""
    first: int = 0
    """Index in the source of the result's first frame."""


def animate(
    path: Path,
    segments: Sequence[Segment],
    encoding: Encoding,
    source: MediaInfo,
    drawing: Drawing,
    stop: StopToken,
    finishing: Finishing = AS_WRITTEN,
) -> tuple[str, ...]:
    """Write the result beside its name, verify it, and move it there.

    Args:
        path: the result; its extension names the format.
        segments: in order, together the whole picture.
        encoding: that they were made with.
        source: what they were made of. An animated image gives its delays, unless frames come at another rate, and
            its number of plays; what was made of a video plays for ever.
        drawing: how to write it.
        stop: asked now and then.
        finishing: what it says of itself.

    Returns:
        What the user should know.

    Raises:
        SigningError: it cannot be signed; the message says where it is kept.
        OutputError: the result cannot be written, or reads back as something else.
        Stopped: a stop was requested; nothing was left behind.
    """
    facts = source.animation
    with closing(_frames(segments, encoding, stop)) as frames:
        notices = write_animation(
            frames,
            path,
            quality=drawing.quality,
            loops=0 if facts is None else facts.loops,
            delays=None if facts is None or encoding.constant_rate else facts.delays[drawing.first :],
            details=None if facts is None else read_image_with_details(source.path)[1],
            finishing=finishing,
            stop=stop,
        )
    lost = [
        f"{path.suffix} holds no {track.kind} track ({track.codec}) of {source.path.name}." for track in source.tracks
    ]
    return tuple(NotKept(notice) for notice in (*notices, *lost))


def _frames(segments: Sequence[Segment], encoding: Encoding, stop: StopToken) -> Generator[Frame, None, None]:
    """All frames, with their times in the result."""
    first = 0
    for segment in segments:
        ends = (*segment.stamps[1:], segment.stamps[-1] + segment.last_duration)
        with VideoReader(probe(segment.path), threads=1) as reader:
            for frame, stamp, end in zip(reader, segment.stamps, ends, strict=True):
                stop.check()
                time, duration = stamp * encoding.time_base, (end - stamp) * encoding.time_base
                yield Frame(first + frame.index, time, frame.picture, duration)
        first += len(segment.stamps)
