"""Writing a video the way the pipeline does: segment by segment, then joined."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from facefusion.core.stop import StopToken
from facefusion.core.values import Frame, Size
from facefusion.media.assemble import Cut, assemble
from facefusion.media.encoder import EncoderSettings
from facefusion.media.encoding import Encoding
from facefusion.media.probe import MediaInfo, probe
from facefusion.media.reader import VideoReader
from facefusion.media.segment import Segment
from facefusion.media.segment_writer import segment_writer

ALL_OF_IT = Cut()
LOSSLESS = EncoderSettings(options=(("crf", "-1"), ("qp", "0")), threads=2)


def write_segments(frames: Iterable[Frame], encoding: Encoding, folder: Path, length: int) -> Iterator[Segment]:
    """Encode frames in segments of ``length`` frames."""
    writer = None
    for number, frame in enumerate(frames):
        if number % length == 0:
            if writer is not None:
                yield writer.finish()
            writer = segment_writer(encoding, folder / f"{number:05}.mkv", StopToken()).__enter__()
        assert writer is not None
        writer.write(frame)
    if writer is not None:
        yield writer.finish()


def write_video(
    target: Path,
    info: MediaInfo,
    frames: Iterable[Frame],
    settings: EncoderSettings = LOSSLESS,
    *,
    size: Size | None = None,
    cut: Cut = ALL_OF_IT,
    length: int = 3,
) -> list[str]:
    """Write frames to ``target`` with the other tracks of ``info``; what was said on the way."""
    encoding = Encoding.plan(info, size or info.size, settings, target)
    folder = target.parent / "segments"
    folder.mkdir(exist_ok=True)
    try:
        segments = list(write_segments(frames, encoding, folder, length))
        return [*encoding.notices, *assemble(target, segments, encoding, info, cut, StopToken())]
    finally:
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()


def transcode(
    source: Path,
    target: Path,
    settings: EncoderSettings = LOSSLESS,
    *,
    change: Callable[[Frame], None] | None = None,
    start: int | None = None,
    end: int | None = None,
    length: int = 3,
) -> list[str]:
    """Write frames ``start`` to before ``end`` of a video again; what was said on the way."""
    info = probe(source)
    with VideoReader(info, threads=1, start=start, end=end) as reader:
        frames = list(reader)
    begin = frames[0].time if start else Fraction(0)
    over = None if end is None else frames[-1].time + frames[-1].duration

    def prepared() -> Iterator[Frame]:
        for frame in frames:
            if change is not None:
                change(frame)
            yield replace(frame, time=frame.time - begin)

    cut = Cut(begin if start else None, over)
    return write_video(target, info, prepared(), settings, cut=cut, length=length)
