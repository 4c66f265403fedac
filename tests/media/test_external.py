"""Segments made by an ``ffmpeg`` on the path, and what happens when that fails, dies or hangs."""

from __future__ import annotations

import os
import stat
import threading
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import psutil
import pytest

from facefusion.core.errors import OutputError, ResourceError, SetupError, Stopped
from facefusion.core.stop import StopToken
from facefusion.media import codecs, external, ffmpeg_program
from facefusion.media.encoder import EncoderSettings
from facefusion.media.encoding import Encoding
from facefusion.media.external import ExternalEncoder
from facefusion.media.probe import probe
from facefusion.media.segment import SegmentEncoder
from tests.media.clips import decode, make_clip, planes_of
from tests.media.encoded import written

LOSSLESS = EncoderSettings(options=(("crf", "-1"), ("qp", "0"), ("bf", "3")), threads=2)
UNEVEN = (0, 512, 2048, 2560, 5120, 5632, 5700, 9000)


@pytest.fixture(autouse=True)
def _forget_answers():
    yield
    for cached in (ffmpeg_program.external_encoders, ffmpeg_program.external_formats):
        cached.cache_clear()
    ffmpeg_program.external_encoder_works.cache_clear()


@pytest.fixture
def real_ffmpeg():
    """The program; where tests with it are asked for, its lack is a failure."""
    found = ffmpeg_program.find_program()
    if found is None and os.environ.get("FACEFUSION_TEST_FFMPEG") == "1":
        pytest.fail("FACEFUSION_TEST_FFMPEG=1 is set and no ffmpeg is on the path")
    if found is None:
        pytest.skip("no ffmpeg is on the path")
    return found


@pytest.fixture
def fake_ffmpeg(tmp_path, monkeypatch):
    """Puts a script in the program's place."""
    if os.name != "posix":
        pytest.skip("a script stands in for the program")

    def put(script: str) -> None:
        path = tmp_path / "programs" / "ffmpeg"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{path.parent}{os.pathsep}{os.environ['PATH']}")

    return put


def outside(info, settings=LOSSLESS, path="b.mkv"):
    return replace(Encoding.plan(info, info.size, settings, Path(path)), external=True)


@pytest.mark.ffmpeg
@pytest.mark.parametrize("pixel_format", ["yuv420p", "yuv444p", "yuv422p10le", "gray"])
def test_frames_and_times_are_those_of_the_encoder_within(real_ffmpeg, tmp_path, pixel_format):
    make_clip(tmp_path / "a.mkv", pixel_format=pixel_format, codec="ffv1", options={}, stamps=UNEVEN)
    info = probe(tmp_path / "a.mkv")
    encoding = outside(info)
    with ExternalEncoder(encoding, tmp_path / "outside.mkv") as writer:
        theirs = written(writer, info)
    with SegmentEncoder(encoding, tmp_path / "within.mkv") as writer:
        ours = written(writer, info)
    assert (theirs.stamps, theirs.last_duration) == (ours.stamps, ours.last_duration)
    frames = decode(theirs.path)
    assert len(frames) == len(UNEVEN)
    assert [frame.pts for frame in frames] == [frame.pts for frame in decode(ours.path)]
    for one, other in zip(frames, decode(ours.path), strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(planes_of(one), planes_of(other), strict=True))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.mkv", "outside.mkv", "within.mkv"]


@pytest.mark.ffmpeg
def test_colour_and_pixel_aspect_reach_the_program(real_ffmpeg, tmp_path):
    colour = {"colorspace": 9, "color_range": 2, "color_primaries": 9, "color_trc": 14}
    make_clip(tmp_path / "a.mkv", colour=colour, aspect=Fraction(4, 3))
    info = probe(tmp_path / "a.mkv")
    with ExternalEncoder(outside(info), tmp_path / "b.mkv") as writer:
        segment = written(writer, info)
    result = probe(segment.path)
    assert (result.colour, result.sample_aspect) == (info.colour, Fraction(4, 3))


@pytest.mark.ffmpeg
def test_semi_planar_frames_reach_the_program(real_ffmpeg, tmp_path):
    """What the encoders of graphics cards take."""
    pictures = make_clip(tmp_path / "a.mkv")
    info = probe(tmp_path / "a.mkv")
    with ExternalEncoder(replace(outside(info), pixel_format="nv12"), tmp_path / "b.mkv") as writer:
        segment = written(writer, info)
    for frame, planes in zip(decode(segment.path), pictures, strict=True):
        assert np.array_equal(planes_of(frame.reformat(format="yuv420p"))[1], planes[1])


@pytest.mark.ffmpeg
def test_what_the_program_says_is_in_the_error(real_ffmpeg, tmp_path):
    make_clip(tmp_path / "a.mkv")
    info = probe(tmp_path / "a.mkv")
    wrong = EncoderSettings(options=(("preset", "breakneck"),), threads=2)
    with (
        pytest.raises(OutputError, match=r"b.mkv cannot be written with libx264: ffmpeg ended with \d+ \(.*breakneck"),
        ExternalEncoder(outside(info, wrong), tmp_path / "b.mkv") as writer,
    ):
        written(writer, info)
    assert [path.name for path in tmp_path.iterdir()] == ["a.mkv"]


@pytest.mark.ffmpeg
def test_the_programs_encoders_and_formats_are_known(real_ffmpeg):
    assert "libx264" in ffmpeg_program.external_encoders()
    assert {"yuv420p", "yuv444p"} <= set(ffmpeg_program.external_formats("libx264"))
    assert ffmpeg_program.external_encoder_works("libx264")
    assert not ffmpeg_program.external_encoder_works("no_such_encoder")


def test_a_program_that_dies_is_noticed_and_nothing_stays(fake_ffmpeg, tmp_path):
    fake_ffmpeg("head -c 5000 >/dev/null; echo 'the card fell out' >&2; exit 7")
    make_clip(tmp_path / "a.mkv", stamps=tuple(range(0, 64 * 512, 512)))
    info = probe(tmp_path / "a.mkv")
    with (
        pytest.raises(OutputError) as caught,
        ExternalEncoder(outside(info), tmp_path / "b.mkv") as writer,
    ):
        written(writer, info)
    assert str(caught.value) == (
        f"{tmp_path / 'b.mkv'} cannot be written with libx264: ffmpeg ended with 7 (the card fell out). "
        "Choose another --output-video-encoder."
    )
    assert not (tmp_path / "b.mkv").exists()


def test_a_card_that_begins_no_further_session_is_told_of_by_the_program_too(fake_ffmpeg, tmp_path):
    said = "[h264_nvenc @ 0x5] OpenEncodeSessionEx failed: out of memory (10): (no details)"
    fake_ffmpeg(f"echo '{said}' >&2; echo 'No capable devices found' >&2; exit 1")
    make_clip(tmp_path / "a.mkv")
    info = probe(tmp_path / "a.mkv")
    encoding = replace(outside(info, EncoderSettings("h264_nvenc")), device=1)
    writer = ExternalEncoder(encoding, tmp_path / "b.mkv")
    command = writer._command()
    assert command[command.index("-gpu") + 1] == "1"
    with pytest.raises(ResourceError) as caught, writer:
        written(writer, info)
    assert str(caught.value).startswith(
        f"the graphics card begins no further encoding with h264_nvenc ({said}). NVIDIA's drivers allow GeForce cards"
    )
    assert not (tmp_path / "b.mkv").exists()


def test_a_program_that_hangs_is_ended_by_a_stop(fake_ffmpeg, tmp_path):
    fake_ffmpeg("exec sleep 600")
    make_clip(tmp_path / "a.mkv", width=512, height=512, stamps=tuple(range(0, 8 * 512, 512)))
    info = probe(tmp_path / "a.mkv")
    stop = StopToken()
    timer = threading.Timer(0.3, stop.request, ("enough",))
    timer.start()
    with pytest.raises(Stopped, match="enough"), ExternalEncoder(outside(info), tmp_path / "b.mkv", stop) as writer:
        program = psutil.Process(writer._program.pid)
        written(writer, info)
    assert not program.is_running()
    assert not any(thread.name == "ffmpeg-feeder" for thread in threading.enumerate())


def test_a_program_that_hangs_is_given_up(fake_ffmpeg, tmp_path, monkeypatch):
    fake_ffmpeg("exec sleep 600")
    monkeypatch.setattr(external, "STALL_SECONDS", 0.2)
    make_clip(tmp_path / "a.mkv", width=512, height=512, stamps=tuple(range(0, 8 * 512, 512)))
    info = probe(tmp_path / "a.mkv")
    with (
        pytest.raises(OutputError, match=r"b.mkv cannot be written with libx264: ffmpeg took no frame for 0 s"),
        ExternalEncoder(outside(info), tmp_path / "b.mkv") as writer,
    ):
        written(writer, info)


def test_much_talk_does_not_block(fake_ffmpeg, tmp_path):
    fake_ffmpeg("head -c 1000000 /dev/zero | tr '\\0' 'x' >&2; cat >/dev/null; exit 3")
    make_clip(tmp_path / "a.mkv")
    info = probe(tmp_path / "a.mkv")
    with pytest.raises(OutputError, match="ended with 3"), ExternalEncoder(outside(info), tmp_path / "b") as writer:
        written(writer, info)


def test_a_program_that_gives_no_frames_back_is_no_success(fake_ffmpeg, tmp_path):
    fake_ffmpeg("cat >/dev/null; for last; do :; done; exit 0")
    make_clip(tmp_path / "a.mkv")
    info = probe(tmp_path / "a.mkv")
    with pytest.raises(OutputError), ExternalEncoder(outside(info), tmp_path / "b.mkv") as writer:
        written(writer, info)
    assert not (tmp_path / "b.mkv").exists()


LISTING = """
case "$*" in
*-encoders*) echo ' V....D h264_vaapi           H.264/AVC (VAAPI) (codec h264)';;
*encoder=*) echo '    Supported pixel formats: vaapi';;
*) exit {status};;
esac
"""


def test_an_encoder_of_the_program_alone_is_taken_from_there(fake_ffmpeg, tmp_path):
    fake_ffmpeg(LISTING.format(status=0))
    codecs.check_encoder("h264_vaapi")
    assert codecs.is_external("h264_vaapi")
    assert codecs.offered_formats("h264_vaapi") == ("nv12",)
    assert not codecs.is_external("libx264")
    make_clip(tmp_path / "a.mkv")
    info = probe(tmp_path / "a.mkv")
    encoding = Encoding.plan(info, info.size, EncoderSettings("h264_vaapi", 80), tmp_path / "b.mp4")
    assert (encoding.external, encoding.pixel_format, encoding.notices) == (True, "nv12", ())
    command = ExternalEncoder(encoding, tmp_path / "b.mkv")._command()
    assert command[4:7] == ["error", "-vaapi_device", "/dev/dri/renderD128"]
    chain = command[command.index("-vf") + 1]
    assert chain.endswith("format=nv12,hwupload")
    assert command[command.index("-qp") + 1] == "10"


def test_an_encoder_whose_device_is_missing_outside_too_is_refused(fake_ffmpeg):
    fake_ffmpeg(LISTING.format(status=1))
    with pytest.raises(SetupError, match=r"^video encoder h264_vaapi cannot be used: this machine lacks its device"):
        codecs.check_encoder("h264_vaapi")


def test_without_a_program_its_encoders_are_missing(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert ffmpeg_program.external_encoders() == frozenset()
    with pytest.raises(SetupError, match=r"^the FFmpeg in use has no video encoder hevc_vaapi, nor has an ffmpeg on"):
        codecs.check_encoder("hevc_vaapi")
