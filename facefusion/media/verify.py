"""Looking at a written video with fresh eyes before it gets its name."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import cast

import av
from av.container.core import Flags

from facefusion.core.errors import OutputError
from facefusion.core.stop import StopToken
from facefusion.core.values import Size

ADVICE = "Check the disk and try again, or choose another container."


@dataclass(frozen=True, slots=True)
class Expected:
    """What a written video has to be."""

    frames: int
    span: Fraction
    """From the first frame to the beginning of the last, in seconds."""
    tolerance: Fraction
    """Of the span, in seconds."""
    size: Size
    tracks: int
    """Of sound and subtitles, those that hold anything."""
    void_tracks: int = 0
    """Those that hold nothing, and so may be there or not."""


def verify_video(part: Path, path: Path, expected: Expected, stop: StopToken) -> None:
    """Re-open a written file; count its frames and tracks, measure it, and decode its first picture.

    Args:
        part: where the file lies now.
        path: what to call it in an error.
        expected: what it has to be.
        stop: asked now and then: a large file on a slow disk takes a while.

    Raises:
        OutputError: it is something else.
        Stopped: a stop was requested.
    """
    try:
        with av.open(str(part)) as container:
            # Where a file tells decoding times only, PyAV would have FFmpeg take the next packet's for this one's.
            container.flags &= ~cast("int", Flags.gen_pts.value)
            stream = container.streams.video[0]
            size = Size(stream.width, stream.height)
            tracks = len(container.streams.audio) + len(container.streams.subtitles)
            times, count = [], 0
            for packet in container.demux(stream):
                stop.check()
                if packet.size == 0 or packet.is_discard:
                    continue
                count += 1
                stamp = packet.pts if packet.pts is not None else packet.dts
                if stamp is not None:
                    times.append(stamp * packet.time_base)
            container.seek(0)
            decoded = next(container.decode(stream), None)
    except (av.FFmpegError, IndexError) as error:
        raise OutputError(f"{path} was written but cannot be read back ({error})", ADVICE) from error
    if count != expected.frames or decoded is None:
        raise OutputError(f"{path} was written with {count} of {expected.frames} frames", ADVICE)
    if size != expected.size:
        raise OutputError(
            f"{path} was written with {size.width} x {size.height} for {expected.size.width} x {expected.size.height}",
            ADVICE,
        )
    if not expected.tracks <= tracks <= expected.tracks + expected.void_tracks:
        raise OutputError(f"{path} was written with {tracks} of {expected.tracks} sound and subtitle tracks", ADVICE)
    # Durations are not compared: MP4 knows those of decoding only.
    span = max(times, default=Fraction(0)) - min(times, default=Fraction(0))
    if times and abs(span - expected.span) > expected.tolerance:
        raise OutputError(
            f"{path} was written with its last frame at {float(span):.3f} s for {float(expected.span):.3f} s", ADVICE
        )
