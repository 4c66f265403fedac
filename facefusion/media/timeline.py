"""When each frame of a video is shown, read from the packets alone."""

from __future__ import annotations

from fractions import Fraction

import av

from facefusion.media.probe import MediaInfo
from facefusion.media.source import open_source


def presentation_times(info: MediaInfo) -> tuple[Fraction, ...] | None:
    """Times of all frames in seconds, in the order they are shown; nothing is decoded.

    None where the packets do not tell, as in AVI with B-frames: then only decoding does.
    """
    times = []
    with open_source(info.path) as container:
        stream = container.streams[info.stream]
        try:
            for packet in container.demux(stream):
                if packet.size == 0 or packet.is_discard:
                    continue
                if packet.pts is None:
                    return None
                times.append(packet.pts * packet.time_base)
        except av.FFmpegError:
            return None
    return tuple(sorted(times))
