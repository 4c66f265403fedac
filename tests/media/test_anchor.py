"""A pass from the middle, or over damaged data, gives the same frames as a pass from the beginning."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from facefusion.media.frames import checksum
from facefusion.media.probe import probe
from facefusion.media.reader import Anchor, VideoReader
from tests.media.odd_clips import damaged_copy, make_moving, moving_picture, shifted_copy, woven_picture

OPEN = {"g": "20", "bf": "3", "x264-params": "open-gop=1:b-pyramid=normal"}
WOVEN = {"g": "20", "flags": "+ildct+ilme"}

CLIPS = {
    "open.mp4": ("libx264", OPEN, "yuv420p"),
    "open.ts": ("libx264", OPEN, "yuv420p"),
    "refresh.mp4": ("libx264", {"g": "20", "x264-params": "intra-refresh=1"}, "yuv420p"),
    "long.mkv": ("libx264", {"g": "500"}, "yuv420p"),
    "woven.ts": ("libx264", WOVEN, "yuv420p"),
    "order.avi": ("libx264", {"g": "20", "bf": "2"}, "yuv420p"),
    "main.mpg": ("mpeg2video", {"g": "15", "bf": "2", "qscale": "3"}, "yuv420p"),
    "xvid.avi": ("mpeg4", {"g": "20", "bf": "2", "qscale": "3"}, "yuv420p"),
    "hidden.webm": ("libvpx", {"g": "30", "auto-alt-ref": "1", "lag-in-frames": "16", "cpu-used": "5"}, "yuv420p"),
    "alpha.webm": ("libvpx-vp9", {"g": "30", "deadline": "realtime", "cpu-used": "8"}, "yuva420p"),
    "prores.mov": ("prores_ks", {"profile": "4444"}, "yuva444p10le"),
    "raw.h264": ("libx264", {"g": "20", "bf": "2"}, "yuv420p"),
}


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    """The clips, damaged twins of some, and what a pass over each by one thread gives."""
    folder = tmp_path_factory.mktemp("clips")
    paths = {}
    for name, (codec, options, pixel_format) in CLIPS.items():
        picture = woven_picture if "woven" in name else moving_picture
        paths[name] = make_moving(folder / name, codec, options, pixel_format=pixel_format, picture=picture)
    for name in ("open.mp4", "open.ts", "main.mpg", "woven.ts", "prores.mov", "xvid.avi"):
        paths[f"damaged {name}"] = damaged_copy(paths[name], folder / f"damaged_{name}")
    paths["twice.ts"] = folder / "twice.ts"
    paths["twice.ts"].write_bytes(paths["open.ts"].read_bytes() * 2)
    infos = {name: probe(path) for name, path in paths.items()}
    return {name: (info, *read(info)) for name, info in infos.items()}


def read(info, **options):
    """Index, time, duration and checksum of every frame, and the damage found."""
    with VideoReader(info, **{"threads": 1} | options) as reader:
        frames = [(frame.index, frame.time, frame.duration, checksum(frame.picture)) for frame in reader]
    return frames, reader.damage


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_what_follows_an_anchor_is_what_an_undisturbed_pass_gives(clips, data):
    info, frames, damage = clips[data.draw(st.sampled_from(sorted(clips)))]
    index = data.draw(st.integers(0, len(frames) - 1))
    threads = data.draw(st.sampled_from([1, 2, 3]))
    anchor = Anchor(*(frames[index][place] for place in (0, 1, 3)))
    again, found = read(info, threads=threads, anchor=anchor)
    assert again == frames[index:]
    assert not found.differs
    assert found.ended_early == damage.ended_early


@pytest.mark.parametrize("name", sorted(["open.mp4", "damaged open.mp4", "damaged open.ts", "damaged prores.mov"]))
@pytest.mark.parametrize("threads", [2, 3])
def test_several_threads_give_the_frames_of_one(clips, name, threads):
    info, frames, damage = clips[name]
    for _ in range(2):
        assert read(info, threads=threads) == (frames, damage)


def test_a_far_frame_is_entered_without_decoding_all_before_it(clips):
    info, frames, _ = clips["open.mp4"]
    passed = []
    anchor = Anchor(50, frames[50][1], frames[50][3])
    again, _ = read(info, anchor=anchor, check=lambda: passed.append(1))
    assert again == frames[50:]
    assert 10 <= len(passed) <= 45


def test_a_frame_that_is_not_the_anchors_is_not_taken_for_it(clips):
    info, frames, _ = clips["open.mp4"]
    again, damage = read(info, anchor=Anchor(50, frames[50][1], frames[50][3] ^ 1))
    assert again == frames[50:]
    assert damage.differs
    assert damage.notice == "the frame at which this run went on decodes otherwise than before"


def test_an_anchors_time_that_comes_twice_is_not_mistaken(clips):
    info, frames, damage = clips["twice.ts"]
    assert len(frames) == 120
    assert damage.jumps == 1
    assert frames[60][1] - frames[59][1] == Fraction(1, 25)
    again, _ = read(info, anchor=Anchor(40, frames[40][1], frames[40][3]))
    assert again == frames[40:]


def test_whoever_asks_to_stop_is_heard_while_frames_are_passed_over(clips):
    info, _, _ = clips["raw.h264"]

    class AskedToStopError(Exception):
        pass

    def stop():
        raise AskedToStopError

    with pytest.raises(AskedToStopError):
        read(info, start=30, check=stop)


def test_the_end_of_a_trim_is_kept_after_an_anchor(clips):
    info, frames, _ = clips["open.mp4"]
    again, _ = read(info, anchor=Anchor(40, frames[40][1], frames[40][3]), end=45)
    assert again == frames[40:45]


def test_a_time_stamp_that_wraps_does_not_tear_the_video(tmp_path, clips):
    info, frames, _ = clips["open.mp4"]
    source = info.path
    wrapped = shifted_copy(source, tmp_path / "wrapped.ts", Fraction(2**33, 90000) - 1, {"mpegts_copyts": "1"})
    again, damage = read(probe(wrapped))
    first = again[0][1]
    assert [(index, time - first, length) for index, time, length, _ in again] == [
        (index, time - frames[0][1], length) for index, time, length, _ in frames
    ]
    assert [one[3] for one in again] == [one[3] for one in frames]
    assert damage.notice is None


def test_a_file_that_has_changed_is_not_read_on(clips):
    info, _, _ = clips["open.mp4"]
    with pytest.raises(RuntimeError, match="inside its with block"):
        next(iter(VideoReader(info)))
    gone = replace(info, stream=9)
    with pytest.raises(Exception, match="has changed since it was looked at"):
        read(gone)
