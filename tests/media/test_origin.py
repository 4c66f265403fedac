"""Files whose clock does not start at 0."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from facefusion.media.finished_video import open_as_written
from facefusion.media.probe import probe
from tests.media.clips import times_of
from tests.media.odd_clips import make_moving, shifted_copy
from tests.media.odd_tracks import RATE, heard, lag, make_noisy_clip
from tests.media.writing import transcode

BEFORE_WRAP = Fraction((1 << 33) - 90_000, 90_000)
"""A second before the clock of a transport stream starts again."""


def broadcast(path: Path, seconds: Fraction, delay: Fraction = Fraction(0)) -> None:
    """A transport stream of 2 s whose clock begins at ``seconds``; its sound begins ``delay`` after its picture."""
    make_noisy_clip(path.with_suffix(".mp4"), seconds=2, sound_seconds=2, delay=delay)
    with av.open(str(path.with_suffix(".mp4"))) as given, av.open(str(path), "w", format="mpegts") as output:
        streams = {one.index: output.add_stream_from_template(one) for one in given.streams}
        for packet in given.demux():
            if packet.size and packet.pts is not None and packet.dts is not None:
                ticks = round(seconds / packet.time_base)
                packet.pts, packet.dts = packet.pts + ticks, packet.dts + ticks
                packet.stream = streams[packet.stream.index]
                output.mux(packet)


@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".avi", ".wmv"])
@pytest.mark.parametrize("seconds", [Fraction(36_000), BEFORE_WRAP])
def test_the_result_begins_when_the_broadcast_does(tmp_path, suffix, seconds):
    broadcast(tmp_path / "a.ts", seconds)
    transcode(tmp_path / "a.ts", tmp_path / f"b{suffix}")
    times = times_of(tmp_path / f"b{suffix}")
    assert len(times) == 50
    assert 0 <= times[0] <= Fraction(2, 25)
    assert abs(times[-1] - times[0] - Fraction(49, 25)) <= Fraction(1, 25)


@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
@pytest.mark.parametrize("seconds", [Fraction(36_000), BEFORE_WRAP])
def test_sound_keeps_its_distance_from_the_picture(tmp_path, suffix, seconds):
    delay = Fraction(7, 10)
    broadcast(tmp_path / "a.ts", seconds, delay)
    transcode(tmp_path / "a.ts", tmp_path / f"b{suffix}")
    new, _, _ = heard(tmp_path / f"b{suffix}")
    picture = round(times_of(tmp_path / f"b{suffix}")[0] * RATE)
    old = np.r_[np.zeros(picture), heard(tmp_path / "a.mp4")[0]]
    late, alike = lag(new, old, RATE + RATE // 2)
    assert abs(late) <= 1024
    assert alike > 0.98


def test_a_picture_of_before_0_loses_no_frame(tmp_path):
    make_moving(tmp_path / "a.mkv", options={"bf": "0"}, count=20)
    info = probe(shifted_copy(tmp_path / "a.mkv", tmp_path / "b.ts", BEFORE_WRAP))
    assert info.start_time == info.origin < 0
    transcode(info.path, tmp_path / "c.mp4")
    assert times_of(tmp_path / "c.mp4") == [Fraction(index, 25) for index in range(20)]


def test_quicktime_keeps_the_time_before_its_first_picture(tmp_path):
    make_moving(tmp_path / "a.mp4", options={"bf": "0"}, count=20)
    info = probe(shifted_copy(tmp_path / "a.mp4", tmp_path / "b.mp4", Fraction(2)))
    assert (info.start_time, info.origin) == (Fraction(2), Fraction(0))
    transcode(info.path, tmp_path / "c.mp4")
    assert times_of(tmp_path / "c.mp4")[0] == 2


@pytest.mark.parametrize("suffix", [".avi", ".wmv"])
def test_aac_of_a_transport_stream_is_encoded_anew_where_it_has_to_be(tmp_path, suffix):
    broadcast(tmp_path / "a.ts", Fraction(0))
    assert transcode(tmp_path / "a.ts", tmp_path / f"b{suffix}") == [
        "The output's container cannot hold aac of a transport stream: audio track 1 of a.ts is encoded anew as aac."
    ]
    new, old = heard(tmp_path / f"b{suffix}")[0], heard(tmp_path / "a.mp4")[0]
    late, alike = lag(new, old, RATE)
    assert abs(late) <= 2048
    assert alike > 0.98


@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".avi"])
def test_recordings_put_together_are_heard_one_after_the_other(tmp_path, suffix):
    broadcast(tmp_path / "a.ts", Fraction(0))
    (tmp_path / "b.ts").write_bytes((tmp_path / "a.ts").read_bytes() * 2)
    transcode(tmp_path / "b.ts", tmp_path / f"c{suffix}")
    assert len(times_of(tmp_path / f"c{suffix}")) == 100
    new, once = heard(tmp_path / f"c{suffix}")[0], heard(tmp_path / "a.mp4")[0][: 2 * RATE]
    for at in (RATE, 3 * RATE):
        late, alike = lag(new, np.r_[once, once], at)
        assert abs(late) <= 2 * 2048
        assert alike > 0.98


def test_a_part_of_recordings_put_together_has_its_own_sound(tmp_path):
    broadcast(tmp_path / "a.ts", Fraction(0))
    (tmp_path / "b.ts").write_bytes((tmp_path / "a.ts").read_bytes() * 3)
    transcode(tmp_path / "b.ts", tmp_path / "c.mp4", start=110, end=145)
    new, once = heard(tmp_path / "c.mp4")[0], heard(tmp_path / "a.mp4")[0][: 2 * RATE]
    late, alike = lag(new, once[round(0.4 * RATE) :], RATE // 2)
    assert abs(late) <= 2 * 2048
    assert alike > 0.98


@pytest.mark.parametrize("suffix", [".avi", ".mxf", ".mp4", ".mkv"])
def test_a_picture_that_begins_after_its_sound_stays_in_step(tmp_path, suffix):
    """Frames of AVI and MXF have numbers: AVI shows the first one from 0 on, MXF begins with it."""
    delay = Fraction(8, 25)
    make_noisy_clip(tmp_path / "early.mkv", ("pcm_s16le",), seconds=2, sound_seconds=3)
    late_picture(tmp_path / "early.mkv", tmp_path / "a.mkv", delay)
    notices = transcode(tmp_path / "a.mkv", tmp_path / f"b{suffix}")
    with open_as_written(tmp_path / f"b{suffix}") as container:
        picture = container.streams.video[0]
        packets = [packet for packet in container.demux(picture) if packet.size]
    times = sorted(
        (packet.dts or 0) * packet.time_base for packet in packets
    )  # without B-frames they are what is shown
    assert len(times) == 50
    new, old = heard(tmp_path / f"b{suffix}")[0], heard(tmp_path / "early.mkv")[0]
    if suffix == ".mxf":
        old = old[round(delay * RATE) :]
        assert [times[0], times[-1]] == [Fraction(0), Fraction(49, 25)]
        assert "a.mkv plays for 0.320 s before its picture begins; the output's container cannot hold that." in notices
    else:
        assert times[0] == (0 if suffix == ".avi" else delay)
        assert [time - delay for time in times[1:]] == [Fraction(index, 25) for index in range(1, 50)]
    late, alike = lag(new, old, RATE)
    assert (late, alike > 0.99) == (0, True)


def late_picture(source: Path, path: Path, delay: Fraction) -> None:
    with av.open(str(source)) as given, av.open(str(path), "w") as output:
        streams = {one.index: output.add_stream_from_template(one) for one in given.streams}
        for packet in given.demux():
            if packet.size and packet.pts is not None and packet.dts is not None:
                ticks = round(delay / packet.time_base) if packet.stream.type == "video" else 0
                packet.pts, packet.dts = packet.pts + ticks, packet.dts + ticks
                packet.stream = streams[packet.stream.index]
                output.mux(packet)
