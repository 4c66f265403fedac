from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facefusion.core.errors import OutputError
from facefusion.media.container import CONTAINERS, container_of
from tests.media.odd_tracks import add_picture, encode_picture

MXF = CONTAINERS[".mxf"]


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        (Fraction(25), Fraction(25)),
        (Fraction(30000, 1001), Fraction(30000, 1001)),
        (Fraction(15), Fraction(30)),
        (Fraction(25, 2), Fraction(25)),
        (Fraction(15000, 1001), Fraction(30000, 1001)),
        (Fraction(10), Fraction(30)),
        (Fraction(43, 3), Fraction(24000, 1001)),
        (Fraction(240), Fraction(120)),  # there is no higher one
    ],
)
def test_rates_that_mxf_lacks_become_one_that_shows_every_frame(rate, expected):
    assert MXF.rate_for(rate) == expected
    assert CONTAINERS[".mp4"].rate_for(rate) == rate


@given(st.fractions(min_value=1, max_value=120))
def test_no_frame_is_left_out_for_a_containers_sake(rate):
    assert MXF.rate_for(rate) in MXF.rates
    assert MXF.rate_for(rate) >= rate


@pytest.mark.parametrize("rate", MXF.rates)
def test_the_rates_of_mxf_can_be_written(tmp_path, rate):
    with av.open(str(tmp_path / "a.mxf"), "w", format="mxf") as output:
        stream = add_picture(output, "libx264")
        stream.codec_context.framerate, stream.codec_context.time_base = rate, 1 / rate
        stream.time_base = 1 / rate
        encode_picture(output, stream, 3)
    with av.open(str(tmp_path / "a.mxf")) as container:
        assert container.streams.video[0].average_rate == rate


def test_a_long_shot_without_a_cut_can_be_written_as_mxf(tmp_path):
    """Its index counts back to the last key frame in a byte."""
    with av.open(str(tmp_path / "a.mxf"), "w", format="mxf") as output:
        stream = add_picture(output, "libx264")
        stream.options = {**stream.options, "g": "250", "scenecut": "0", **dict(MXF.encoder_options)}
        encode_picture(output, stream, 140)
    with av.open(str(tmp_path / "a.mxf")) as container:
        assert sum(packet.size > 0 for packet in container.demux(video=0)) == 140


def test_what_holds_which_encoder():
    assert container_of(Path("a.MP4")).encoder_for("libx265") == "libx265"
    assert container_of(Path("a.webm")).encoder_for("libx264") == "libvpx-vp9"
    assert container_of(Path("a.mp4")).encoder_for("rawvideo") == "libx264"
    assert container_of(Path("a.mxf")).encoder_for("libx265") == "libx264"
    with pytest.raises(OutputError, match=r"b\.txt has no extension of a video that can be written. Use one of \.avi"):
        container_of(Path("b.txt"))


@pytest.mark.parametrize(
    ("suffix", "wanted", "used"),
    [
        (".avi", "libopus", "aac"),
        (".m4v", "flac", "aac"),
        (".mov", "flac", "aac"),
        (".mov", "libopus", "aac"),
        (".mp4", "flac", "flac"),
        (".mkv", "libopus", "libopus"),
        (".mxf", "aac", "pcm_s16le"),
        (".webm", "aac", "libopus"),
        (".wmv", "flac", "aac"),
        (".mp4", None, "aac"),
        (".webm", None, "libopus"),
    ],
)
def test_sound_encoders_are_coerced_as_in_facefusion(suffix, wanted, used):
    assert CONTAINERS[suffix].sound.encoder_for(wanted) == used
