"""What every reader and every writer of frames keeps to, whatever stands behind it; stand-ins included."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Self

import av
import numpy as np
import pytest
from PIL import Image

from facefusion.core.errors import OutputError
from facefusion.core.stop import StopToken
from facefusion.core.values import Frame
from facefusion.media.damage import Damage
from facefusion.media.encoder import EncoderSettings
from facefusion.media.encoding import Encoding
from facefusion.media.external import ExternalEncoder
from facefusion.media.ffmpeg_program import find_program
from facefusion.media.frame_reader import FrameReader, frame_reader
from facefusion.media.frames import checksum
from facefusion.media.probe import MediaInfo, probe
from facefusion.media.reader import Anchor
from facefusion.media.segment import Segment, SegmentEncoder, SegmentWriter
from tests.media.clips import make_clip

COUNT = 24
UNEVEN = [0, *np.cumsum([512, 700, 300] * 8)[: COUNT - 1].tolist()]
LOSSLESS = EncoderSettings(options=(("crf", "-1"), ("qp", "0"), ("bf", "2")), threads=2)


class ListReader:
    """Frames of a list: what tests of the pipeline may put in a reader's place."""

    def __init__(self, frames: list[Frame], *, start: int = 0, end: int | None = None) -> None:
        self.damage = Damage()
        self._frames = frames[start:end]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def __iter__(self) -> Iterator[Frame]:
        return iter(self._frames)


class ListWriter:
    """Keeps frames in a list: what tests of the pipeline may put in a writer's place."""

    def __init__(self, encoding: Encoding, path: Path) -> None:
        self._encoding = encoding
        self._path = path
        self._frames: list[Frame] = []
        self._finished = False

    def __enter__(self) -> Self:
        self._path.touch()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._finished:
            self._path.unlink()

    def write(self, frame: Frame) -> None:
        if self._frames and frame.time <= self._frames[-1].time:
            raise OutputError(f"frame {frame.index} does not come after the one before it")
        self._frames.append(frame)

    def finish(self) -> Segment:
        if not self._frames:
            raise OutputError("nothing was written")
        self._finished = True
        tick = self._encoding.time_base
        stamps = tuple(round(frame.time / tick) for frame in self._frames)
        return Segment(self._path, stamps, round(self._frames[-1].duration / tick), 0)


def make_animation(path: Path) -> None:
    frames = [Image.fromarray(np.full((64, 96, 3), 9 * number, np.uint8)) for number in range(COUNT)]
    delays = [40 + 10 * (number % 5) for number in range(COUNT)]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=delays, loop=0, lossless=True)


SOURCES = ("a.mp4", "b.mkv", "a.mov", "a.avi", "a.ts", "vp9.webm", "a.gif", "a.webp", "a.png", "list")


@pytest.fixture(params=SOURCES)
def info(request: pytest.FixtureRequest, tmp_path: Path) -> MediaInfo | list[Frame]:
    """A source of ``COUNT`` frames; a list of frames for the stand-in."""
    name: str = request.param
    path = tmp_path / ("a.mp4" if name == "list" else name)
    if path.suffix in (".gif", ".webp", ".png"):
        make_animation(path)
    elif path.suffix == ".webm":
        make_clip(path, codec="libvpx-vp9", options={"deadline": "realtime"}, stamps=UNEVEN)
    elif path.suffix in (".avi", ".ts"):
        make_clip(path, options={"qp": "0", "bf": "0"}, stamps=range(0, COUNT * 512, 512))
    else:
        make_clip(path, options={"qp": "0", "bf": "3", "g": "10"}, stamps=UNEVEN)
    made = probe(path)
    if name != "list":
        return made
    with frame_reader(made, threads=1) as reader:
        return list(reader)


def opened(info: MediaInfo | list[Frame], *, start: int = 0, end: int | None = None) -> FrameReader:
    if isinstance(info, list):
        return ListReader(info, start=start, end=end)
    return frame_reader(info, start=start, end=end, threads=2)


def facts(reader: FrameReader) -> list[tuple[int, Fraction, Fraction, int]]:
    with reader:
        return [(frame.index, frame.time, frame.duration, checksum(frame.picture)) for frame in reader]


class TestReaders:
    def test_all_frames_come_in_order_without_holes(self, info: MediaInfo | list[Frame]) -> None:
        reader = opened(info)
        frames = facts(reader)
        assert [index for index, *_ in frames] == list(range(COUNT))
        assert all(duration > 0 for _, _, duration, _ in frames)
        assert all(one[1] + one[2] == other[1] for one, other in pairwise(frames))
        assert len({sums for *_, sums in frames}) == COUNT
        assert reader.damage == Damage()

    def test_a_part_is_a_part_of_the_whole(self, info: MediaInfo | list[Frame]) -> None:
        whole = facts(opened(info))
        for start, end in ((0, 5), (7, 8), (13, None), (COUNT - 1, None), (5, 500)):
            assert facts(opened(info, start=start, end=end)) == whole[start:end]

    def test_an_anchor_is_a_place_to_go_on_from(self, info: MediaInfo | list[Frame]) -> None:
        if isinstance(info, list):
            pytest.skip("the stand-in is made of frames that are there already")
        whole = facts(opened(info))
        for index in (1, 11, COUNT - 1):
            anchor = Anchor(index, whole[index][1], whole[index][3])
            assert facts(frame_reader(info, anchor=anchor)) == whole[index:]

    def test_a_frame_that_is_kept_stays_as_it_is(self, info: MediaInfo | list[Frame]) -> None:
        with opened(info) as reader:
            kept = list(reader)
        assert [checksum(frame.picture) for frame in kept] == [sums for *_, sums in facts(opened(info))]


WRITERS = ("libx264", "libx265", "libvpx-vp9", "ffv1", "program", "list")


@pytest.fixture(params=WRITERS)
def writer(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[SegmentWriter, MediaInfo, Encoding]:
    name: str = request.param
    make_clip(tmp_path / "a.mp4", stamps=UNEVEN)
    source = probe(tmp_path / "a.mp4")
    settings = LOSSLESS if name in ("libx264", "program", "list") else EncoderSettings(encoder=name, threads=2)
    output = tmp_path / ("b.gif" if name == "ffv1" else "b.mkv")
    encoding = Encoding.plan(source, source.size, settings, output)
    path = tmp_path / "segment.mkv"
    if name == "list":
        return ListWriter(encoding, path), source, encoding
    if name == "program":
        if find_program() is None:
            if os.environ.get("FACEFUSION_TEST_FFMPEG") == "1":
                pytest.fail("FACEFUSION_TEST_FFMPEG=1 is set and no ffmpeg is on the path")
            pytest.skip("no ffmpeg is on the path")
        return ExternalEncoder(replace(encoding, external=True), path, StopToken()), source, encoding
    return SegmentEncoder(encoding, path), source, encoding


class TestWriters:
    def test_every_frame_is_in_the_segment_with_its_time(
        self, writer: tuple[SegmentWriter, MediaInfo, Encoding]
    ) -> None:
        encoder, source, encoding = writer
        with frame_reader(source) as reader, encoder:
            frames = list(reader)
            for frame in frames:
                encoder.write(frame)
            segment = encoder.finish()
        assert segment.path.is_file()
        assert [stamp * encoding.time_base for stamp in segment.stamps] == [frame.time for frame in frames]
        assert segment.last_duration * encoding.time_base == frames[-1].duration
        if isinstance(encoder, ListWriter):
            return
        with av.open(str(segment.path)) as container:
            ranks = [rank for rank, _ in segment.packets(container)]
        assert sorted(ranks) == list(range(COUNT))
        assert max(place - rank for place, rank in enumerate(ranks)) == segment.delay

    def test_frames_have_to_come_in_order(self, writer: tuple[SegmentWriter, MediaInfo, Encoding]) -> None:
        encoder, source, _ = writer
        with frame_reader(source) as reader, encoder:
            first = next(iter(reader))
            encoder.write(first)
            with pytest.raises(OutputError, match="frame 0 does not come after the one before it"):
                encoder.write(first)

    def test_what_is_left_unfinished_leaves_nothing(self, writer: tuple[SegmentWriter, MediaInfo, Encoding]) -> None:
        encoder, source, _ = writer
        with frame_reader(source) as reader, encoder:
            encoder.write(next(iter(reader)))
        assert [path.name for path in source.path.parent.iterdir()] == ["a.mp4"]

    def test_a_segment_without_frames_is_an_error(self, writer: tuple[SegmentWriter, MediaInfo, Encoding]) -> None:
        encoder, source, _ = writer
        with pytest.raises(OutputError), encoder:
            encoder.finish()
        assert [path.name for path in source.path.parent.iterdir()] == ["a.mp4"]
