"""Decoding and encoding with nothing in between: the part of a run's time that no program can take away."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from pathlib import Path

import av
from av.codec.context import ThreadType

from facefusion.core.errors import UsageError
from facefusion.core.stop import StopToken
from facefusion.media.encoding import Encoding
from facefusion.media.failure import explained
from facefusion.media.probe import MediaInfo
from facefusion.media.source import open_source


def transcode_seconds(
    info: MediaInfo,
    encoding: Encoding,
    path: Path,
    *,
    start: int = 0,
    end: int | None = None,
    stop: StopToken | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Seconds to decode a video and encode it again with FFmpeg alone, each on as many threads as it likes.

    Args:
        info: of the video.
        encoding: what the encoder is told; for pictures of the video's own size.
        path: to write to; Matroska.
        start: index of the first frame to encode; those before it are decoded only.
        end: index after the last one; to the end where none.
        stop: asked with every frame, where one is given.
        clock: seconds; another one in tests.

    Raises:
        Stopped: a stop was requested.
        MediaError: the video cannot be decoded.
        OutputError: it cannot be encoded.
        UsageError: the encoding changes the size, or is an outside program's.
    """
    if encoding.external or encoding.source_size != info.size:
        raise UsageError(
            f"{info.path.name} cannot be encoded without anything in between", "Choose another encoder or size."
        )
    stop = stop or StopToken()
    begin = clock()
    with open_source(info.path) as source:
        stream = source.streams.video[0]
        stream.codec_context.thread_type = ThreadType.AUTO
        try:
            with av.open(str(path.absolute()), "w", format=encoding.segment_muxer) as output:
                coded = encoding.add_stream(output)
                wanted = encoding.pixel_format
                for frame in itertools.islice(source.decode(stream), start, end):
                    stop.check()
                    plain = frame if frame.format.name == wanted else frame.reformat(format=wanted)
                    plain.pict_type = 0
                    output.mux(coded.encode(plain))
                output.mux(coded.encode(None))
        except (av.FFmpegError, OSError, ValueError) as error:
            raise explained(error, path, encoding.encoder) from error
    return clock() - begin
