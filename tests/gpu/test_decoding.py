"""A real card decodes to the frames of the processor's decoder, bit by bit."""

from __future__ import annotations

import pytest

from facefusion.inference.runtime import read_runtime
from facefusion.media.decoder_card import DecoderCard
from facefusion.media.frames import checksum
from facefusion.media.nvdec import TRIALS, Nvdec, try_out
from facefusion.media.probe import probe
from facefusion.media.reader import Anchor, VideoReader
from tests.gpu.conftest import REHEARSAL, is_missing
from tests.media.cards import FakeCard
from tests.media.odd_clips import damaged_copy, make_moving, moving_picture, woven_picture
from tests.media.test_card_decoding import CLIPS

pytestmark = pytest.mark.gpu

SIZE = (256, 192)
"""No card of any codec asks for more."""
ALWAYS = ("h264", "hevc")
"""Codecs that every card of today decodes."""


@pytest.fixture
def way(cuda):
    """The way to the card that graphs run on; a stand-in in a rehearsal."""
    if cuda.provider == REHEARSAL:
        return FakeCard()
    if not read_runtime().gpus:
        is_missing("nvidia-smi tells of none")
    return Nvdec(cuda.plan().devices[0].id)


def read(info, way=None, **options):
    """Every frame, and what was told of the card."""
    told: list[str] = []
    card = None if way is None else DecoderCard(way, info.path, info.pixel_format, told.append)
    with VideoReader(info, card=card, **options) as reader:
        return [(frame.index, frame.time, frame.duration, checksum(frame.picture)) for frame in reader], told


@pytest.mark.parametrize(("codec", "pixel_format"), sorted(TRIALS))
def test_the_card_passes_its_trial(way, codec, pixel_format):
    reason = try_out(way, codec, pixel_format)
    if reason and codec not in ALWAYS:
        pytest.skip(reason)
    assert reason == ""


@pytest.mark.parametrize("name", CLIPS)
def test_every_frame_is_the_processors_from_anywhere(way, tmp_path, name):
    codec, options, pixel_format = CLIPS[name]
    if try_out(way, "vp9", "yuv420p") and "vp9" in codec:
        pytest.skip("the card does not decode VP9")
    picture = woven_picture if "woven" in name else moving_picture
    path = make_moving(tmp_path / name, codec, options, size=SIZE, pixel_format=pixel_format, picture=picture)
    info = probe(path)
    wanted, _ = read(info, threads=1)
    assert read(info, way) == (wanted, [])
    for index in (1, 23, 41):
        assert read(info, way, start=index, end=index + 5)[0] == wanted[index : index + 5]
        assert read(info, way, anchor=Anchor(index, wanted[index][1], wanted[index][3]))[0] == wanted[index:]


def test_of_a_damaged_clip_no_frame_is_missing_and_what_was_noticed_is_mended_by_the_processor(way, tmp_path):
    codec, options, pixel_format = CLIPS["open.mp4"]
    path = make_moving(tmp_path / "a.mp4", codec, options, size=SIZE, pixel_format=pixel_format)
    info = probe(damaged_copy(path, tmp_path / "b.mp4", places=40))
    wanted, _ = read(info, threads=1)
    given, told = read(info, way)
    assert len(given) == len(wanted)
    assert len(told) <= 1
    if told:
        assert given == wanted
