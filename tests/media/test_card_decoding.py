"""Decoding on a graphics card gives the frames of the processor's decoder, whatever goes wrong with it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from facefusion.core.errors import MediaError
from facefusion.core.values import Size
from facefusion.media import nvdec
from facefusion.media.decoder_card import DecoderCard
from facefusion.media.frames import checksum
from facefusion.media.nvdec import TRIALS, Nvdec, PlanarFrames, misfit, try_out
from facefusion.media.probe import MediaInfo, probe
from facefusion.media.reader import Anchor, Damage, VideoReader
from tests.media.cards import FakeCard, brought
from tests.media.clips import frame_from, make_clip, noise_planes, planes_of
from tests.media.odd_clips import damaged_copy, make_moving, moving_picture, with_garbage, woven_picture

OPEN = {"g": "20", "bf": "3", "x264-params": "open-gop=1:b-pyramid=normal"}
QUICK_265 = {"preset": "ultrafast", "x265-params": "log-level=none:pools=1:frame-threads=1:bframes=3:keyint=20"}
QUICK_VP9 = {"deadline": "realtime", "cpu-used": "8"}

CLIPS = {
    "open.mp4": ("libx264", OPEN, "yuv420p"),
    "open.ts": ("libx264", OPEN, "yuv420p"),
    "refresh.mp4": ("libx264", {"g": "20", "x264-params": "intra-refresh=1"}, "yuv420p"),
    "full.mp4": ("libx264", {"g": "20"}, "yuvj420p"),
    "woven.ts": ("libx264", {"g": "20", "flags": "+ildct+ilme"}, "yuv420p"),
    "order.avi": ("libx264", {"g": "20", "bf": "2"}, "yuv420p"),
    "raw.h264": ("libx264", {"g": "20", "bf": "2"}, "yuv420p"),
    "main.mkv": ("libx265", QUICK_265, "yuv420p"),
    "main10.mkv": ("libx265", QUICK_265, "yuv420p10le"),
    "vp9.webm": ("libvpx-vp9", QUICK_VP9, "yuv420p"),
}

Read = tuple[list[tuple[int, Fraction, Fraction, int]], Damage]


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[MediaInfo, Read]]:
    """Clips, damaged twins of some, and what the processor's decoder gives of each."""
    folder = tmp_path_factory.mktemp("clips")
    paths: dict[str, Path] = {}
    for name, (codec, options, pixel_format) in CLIPS.items():
        picture = woven_picture if "woven" in name else moving_picture
        paths[name] = make_moving(folder / name, codec, options, pixel_format=pixel_format, picture=picture)
    for name in ("open.mp4", "open.ts", "woven.ts"):
        paths[f"damaged {name}"] = damaged_copy(paths[name], folder / f"damaged_{name}")
    paths["garbage"] = with_garbage(paths["open.mp4"], folder / "garbage.mp4", (31, 33))
    paths["cut"] = folder / "cut.ts"
    paths["cut"].write_bytes(paths["open.ts"].read_bytes()[:-9000])
    paths["uneven"] = folder / "uneven.mp4"
    make_clip(paths["uneven"], stamps=(0, 512, 2048, 2560, 5120, 5632, 5700, 9000), options={"bf": "2"})
    paths["turned"] = folder / "turned.mp4"
    make_clip(paths["turned"], rotation=90, mirrored=True)
    infos = {name: probe(path) for name, path in paths.items()}
    return {name: (info, read(info, threads=1)) for name, info in infos.items()}


NAMES = (*CLIPS, "damaged open.mp4", "damaged open.ts", "damaged woven.ts", "garbage", "cut", "uneven", "turned")


def read(info: MediaInfo, card: FakeCard | None = None, told: list[str] | None = None, **options: object) -> Read:
    """Index, time, duration and checksum of every frame, and the damage found."""
    said = [] if told is None else told
    own = None if card is None else DecoderCard(card, info.path, info.pixel_format, said.append)
    with VideoReader(info, card=own, **options) as reader:  # type: ignore[arg-type]
        frames = [(frame.index, frame.time, frame.duration, checksum(frame.picture)) for frame in reader]
    return frames, reader.damage


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_a_card_gives_the_frames_of_the_processor(clips, name, threads):
    info, wanted = clips[name]
    assert read(info, FakeCard(), threads=threads) == wanted


@pytest.mark.parametrize("name", [name for name in NAMES if name in CLIPS or name in ("uneven", "turned")])
def test_a_sound_video_is_decoded_by_the_card_alone(clips, name):
    info, (frames, _) = clips[name]
    card = FakeCard()
    told: list[str] = []
    read(info, card, told)
    assert told == []
    assert (card.opened, card.decoded, card.threads) == (1, len(frames), {1})


@pytest.mark.parametrize("name", ["open.mp4", "open.ts", "woven.ts", "main10.mkv", "vp9.webm", "damaged open.mp4"])
@pytest.mark.parametrize("index", [0, 1, 23, 41])
def test_a_part_and_what_follows_an_anchor_are_those_of_the_whole(clips, name, index):
    info, (frames, _) = clips[name]
    index = min(index, len(frames) - 1)
    anchor = Anchor(*(frames[index][place] for place in (0, 1, 3)))
    assert read(info, FakeCard(), anchor=anchor)[0] == frames[index:]
    assert read(info, FakeCard(), start=index, end=index + 3)[0] == frames[index : index + 3]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", ["damaged open.mp4", "garbage"])
def test_a_damaged_video_goes_to_the_processor_and_that_is_said_once(clips, name, threads):
    info, _ = clips[name]
    told: list[str] = []
    read(info, FakeCard(), told, threads=threads)
    assert told == [
        f"{info.path.name} is decoded by the processor from here on, not by the card: something in it is damaged, and "
        "what a card makes of that is its own."
    ]


def test_a_packet_that_the_container_doubts_goes_to_the_processor(clips, tmp_path):
    """A card mends without a word, so what FFmpeg's reader of a container marks has to do."""
    info, wanted = clips["open.ts"]
    data = bytearray(info.path.read_bytes())
    of_picture = [at for at in range(0, len(data), 188) if data[at + 1] & 0x1F == 1 and data[at + 2] == 0]
    data[of_picture[len(of_picture) // 2] + 3] ^= 0x05  # the counter, so that a packet seems to be missing
    doubted = replace(info, path=tmp_path / "doubted.ts")
    doubted.path.write_bytes(data)
    told: list[str] = []
    assert read(doubted, threads=2) == wanted
    assert read(doubted, FakeCard(), told) == wanted
    assert told == [
        "doubted.ts is decoded by the processor from here on, not by the card: something in it is damaged, and what a "
        "card makes of that is its own."
    ]


@pytest.mark.parametrize("name", ["open.mp4", "woven.ts", "order.avi", "uneven"])
@pytest.mark.parametrize("at", [0, 1, 5, 30])
def test_a_card_that_fails_midway_is_left_without_a_seam(clips, name, at):
    info, wanted = clips[name]
    told: list[str] = []
    assert read(info, FakeCard(fails_at=at), told) == wanted
    assert len(told) == (name != "uneven" or at < 9)


@pytest.mark.parametrize("at", [0, 7])
def test_frames_that_the_processor_decoded_unasked_are_noticed(clips, at):
    info, wanted = clips["open.mp4"]
    told: list[str] = []
    assert read(info, FakeCard(processor_from=at), told) == wanted
    assert told == [
        "open.mp4 is decoded by the processor from here on, not by the card: FFmpeg finds it unfit for a stream of "
        "this profile and size."
    ]


@pytest.mark.parametrize(
    ("card", "reason"),
    [
        (FakeCard(absent="Cannot load libcuda.so.1"), "Cannot load libcuda.so.1"),
        (FakeCard(no_decoder=True), "it has no decoder for h264"),
    ],
)
def test_a_card_that_cannot_be_had_is_left_at_once(clips, card, reason):
    info, wanted = clips["open.mp4"]
    told: list[str] = []
    assert read(info, card, told) == wanted
    assert told == [f"open.mp4 is decoded by the processor from here on, not by the card: {reason}."]


def test_what_was_left_once_is_not_tried_again(clips):
    info, (frames, _) = clips["open.mp4"]
    card = FakeCard(fails_at=3)
    told: list[str] = []
    own = DecoderCard(card, info.path, info.pixel_format, told.append)
    for _ in range(2):
        with VideoReader(info, card=own) as reader:
            assert len(list(reader)) == len(frames)
    assert (card.opened, len(told)) == (1, 1)


def test_a_file_that_went_is_no_matter_of_the_card(clips, tmp_path):
    info, _ = clips["open.mp4"]
    gone = replace(info, path=tmp_path / "gone.mp4")
    told: list[str] = []
    with pytest.raises(MediaError, match=r"gone\.mp4 does not exist"):
        read(gone, FakeCard(), told)
    assert told == []


@pytest.mark.parametrize(
    ("pixel_format", "brought_as"), [("yuv420p", "nv12"), ("yuvj420p", "nv12"), ("yuv420p10le", "p010le")]
)
def test_planes_are_put_in_order_exactly(pixel_format, brought_as):
    planes = noise_planes(pixel_format, 322, 182, 5)
    frame = frame_from(planes, pixel_format, 322, 182)
    frame.pts, frame.time_base, frame.color_range = 77, Fraction(1, 90000), 2
    semi = brought(frame)
    assert semi.format.name == brought_as
    given = PlanarFrames(pixel_format)(semi)
    assert given.format.name == pixel_format
    assert (given.pts, given.time_base, given.color_range) == (77, Fraction(1, 90000), 2)
    assert all(np.array_equal(one, other) for one, other in zip(planes_of(given), planes, strict=True))


@pytest.mark.parametrize(
    ("codec", "pixel_format", "size", "alpha", "reason"),
    [
        ("h264", "yuv420p", (1920, 1080), False, ""),
        ("h264", "yuvj420p", (1920, 1080), False, ""),
        ("hevc", "yuv420p10le", (3840, 2160), False, ""),
        ("vp9", "yuv420p", (640, 360), False, ""),
        ("h264", "yuv420p10le", (1920, 1080), False, "cards do not decode h264 in yuv420p10le"),
        ("hevc", "yuv444p", (1920, 1080), False, "cards do not decode hevc in yuv444p"),
        ("vp9", "yuv420p", (640, 360), True, "cards do not decode vp9 in yuv420p with an alpha channel"),
        ("mpeg2video", "yuv420p", (720, 576), False, "cards do not decode mpeg2video in yuv420p"),
        ("libdav1d", "yuv420p", (720, 576), False, "cards do not decode libdav1d in yuv420p"),
        ("vp9", "yuv420p", (641, 360), False, "cards decode even sizes only, not 641 x 360"),
    ],
)
def test_what_cards_take(codec, pixel_format, size, alpha, reason):
    assert misfit(codec, pixel_format, Size(*size), alpha=alpha) == reason


class Wrong(FakeCard):
    """A card that makes something of its frames that the processor does not."""

    def __init__(self, change):
        super().__init__()
        self._change = change

    def context(self, stream):
        context = super().context(stream)
        decode = context.decode
        context.decode = lambda packet: self._change(decode(packet))
        return context


def one_bit_off(frames):
    for frame in frames:
        np.frombuffer(frame.planes[0], np.uint8)[101] ^= 1  # of 10 bits, the low byte holds two
    return frames


@pytest.mark.parametrize(("codec", "pixel_format"), sorted(TRIALS))
def test_a_card_is_tried_with_a_clip_and_its_frames_are_compared(codec, pixel_format):
    assert try_out(FakeCard(), codec, pixel_format) == ""
    assert try_out(Wrong(one_bit_off), codec, pixel_format) == "its frames are not those of the processor's decoder"


def test_a_card_that_leaves_a_frame_out_fails_its_trial():
    left_out = Wrong(lambda frames: [frame for frame in frames if not frame.pts])
    assert try_out(left_out, "h264", "yuv420p") == "its frames are not those of the processor's decoder"


def test_why_a_trial_failed_is_told():
    assert try_out(FakeCard(absent="Cannot load libcuda.so.1"), "h264", "yuv420p") == "Cannot load libcuda.so.1"
    assert try_out(FakeCard(fails_at=1), "h264", "yuv420p") == "Generic error in an external library"
    assert try_out(FakeCard(processor_from=0), "h264", "yuv420p").startswith("FFmpeg finds it unfit")
    assert try_out(FakeCard(processor_from=1), "h264", "yuv420p").startswith("FFmpeg finds it unfit")


def test_a_card_that_was_full_is_tried_again_and_one_that_works_is_not(monkeypatch):
    cards = [FakeCard(absent="out of memory"), FakeCard()]
    waiting = iter(cards)
    monkeypatch.setattr(nvdec, "Nvdec", lambda device: next(waiting))
    monkeypatch.setattr(nvdec, "_DECODED", set())
    assert [nvdec.obstacle(0, "h264", "yuv420p") for _ in range(3)] == ["out of memory", "", ""]
    assert [card.opened for card in cards] == [0, 1]


def test_without_a_driver_ffmpeg_says_so():
    """On the real way, up to the driver that is not there."""
    if Path("/proc/driver/nvidia").exists() or "cuda" not in av.codec.hwaccel.hwdevices_available():
        pytest.skip("there is a driver, or FFmpeg was built without CUDA")
    assert "load" in try_out(Nvdec(0), "h264", "yuv420p")
    assert av.logging.get_level() is None
