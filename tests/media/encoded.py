"""Encoding a clip into one segment, and reading that back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import cast

import av
import numpy as np
from av.video.codeccontext import VideoCodecContext
from av.video.frame import VideoFrame

from facefusion.core.values import Frame, Picture, Size
from facefusion.media.encoder import EncoderSettings
from facefusion.media.encoding import Encoding
from facefusion.media.probe import MediaInfo, probe
from facefusion.media.reader import VideoReader
from facefusion.media.segment import Segment, SegmentEncoder, SegmentWriter


@dataclass(frozen=True, slots=True)
class Encoded:
    encoding: Encoding
    segment: Segment

    @property
    def notices(self) -> tuple[str, ...]:
        return self.encoding.notices

    @property
    def frames(self) -> list[VideoFrame]:
        return decoded(self.segment.path)

    @property
    def info(self) -> MediaInfo:
        return probe(self.segment.path)

    def bgr(self) -> list[np.ndarray]:
        return pictures_of(self.info)


def decoded(path: Path, decoder: str | None = None) -> list[VideoFrame]:
    """Frames in order; by a decoder of that name where one is given."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        if decoder is None:
            return list(container.decode(stream))
        context = cast("VideoCodecContext", av.CodecContext.create(decoder, "r"))
        return [frame for packet in container.demux(stream) for frame in context.decode(packet)]


def pictures_of(info: MediaInfo) -> list[np.ndarray]:
    with VideoReader(info, threads=1) as reader:
        return [frame.picture.to_bgr(as_float=True).astype(np.float64) for frame in reader]


def encode(
    info: MediaInfo,
    folder: Path,
    settings: EncoderSettings,
    *,
    suffix: str = ".mkv",
    pictures: Sequence[Picture] | None = None,
    size: Size | None = None,
) -> Encoded:
    """Encode the pictures, those of the file itself where none are given."""
    encoding = Encoding.plan(info, size or info.size, settings, folder / f"result{suffix}")
    with SegmentEncoder(encoding, folder / f"{settings.encoder}.segment") as writer:
        return Encoded(encoding, written(writer, info, pictures))


def written(writer: SegmentWriter, info: MediaInfo, pictures: Sequence[Picture] | None = None) -> Segment:
    with VideoReader(info, threads=1) as reader:
        for index, frame in enumerate(reader):
            writer.write(frame if pictures is None else replace(frame, picture=pictures[index]))
    return writer.finish()


def numbered(pictures: Sequence[Picture]) -> list[Frame]:
    return [Frame(index, Fraction(index, 25), picture, Fraction(1, 25)) for index, picture in enumerate(pictures)]
