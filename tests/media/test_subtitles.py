from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import av
import pytest
from av.subtitles.subtitle import SubtitleSet
from hypothesis import given
from hypothesis import strategies as st

from facefusion.media.subtitles import _one_event, _Screen
from tests.media.odd_tracks import make_noisy_clip, take_along

ASS_HEADER = b"""[Script Info]
ScriptType: v4.00+
PlayResX: 384
PlayResY: 288

[V4+ Styles]
Format: Name, Fontname, Fontsize, PrimaryColour, SecondaryColour, OutlineColour, BackColour, Bold, Italic, Underline, \
StrikeOut, ScaleX, ScaleY, Spacing, Angle, BorderStyle, Outline, Shadow, Alignment, MarginL, MarginR, MarginV, Encoding
Style: Default,Arial,16,&Hffffff,&Hffffff,&H0,&H0,0,0,0,0,100,100,0,0,1,1,0,2,10,10,10,1

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
"""
CUES = [
    (500, 1500, "First line"),
    (1800, 2600, r"{\i1}Slanted{\i0} and\N{\b1}bold{\b0}"),
    (3000, 3500, "Grüße 你好 🙂"),
]
PLAIN = ["First line", "Slanted and\nbold", "Grüße 你好 🙂"]
TAGGED = ["First line", "<i>Slanted</i> and\n<b>bold</b>", "Grüße 你好 🙂"]


def make_titled_clip(path, codec, cues=CUES, seconds=4.0):
    """A clip with a track of subtitles; ``cues`` are begin and end in milliseconds and the text in ASS."""

    def prepare(output):
        stream = output.add_stream(codec)
        stream.codec_context.subtitle_header = ASS_HEADER
        stream.codec_context.time_base = stream.time_base = Fraction(1, 1000)
        stream.metadata["language"] = "fra"
        stream.metadata["title"] = "Words"

        def write():
            for number, (begin, end, text) in enumerate(cues):
                event = f"{number},0,Default,,0,0,0,,{text}".encode()
                packet = stream.codec_context.encode_subtitle(SubtitleSet.create(event, 0, end - begin, begin))
                packet.time_base, packet.stream = Fraction(1, 1000), stream
                output.mux(packet)

        return write

    make_noisy_clip(path, ("aac",) if path.suffix != ".webm" else ("libopus",), seconds=seconds, prepare=prepare)


def cues_of(path):
    """Codec, and begin, end and text of each cue, read without the code under test."""
    with av.open(str(path)) as container:
        stream = container.streams.subtitles[0]
        codec = stream.codec_context.codec.canonical_name
        cues = []
        for packet in container.demux(stream):
            if not packet.size:
                continue
            data = bytes(packet)
            if codec == "mov_text":
                data = data[2 : 2 + int.from_bytes(data[:2], "big")]
            elif codec == "ass":
                data = data.split(b",", 8)[8]
            if data:
                begin, tick = packet.pts or 0, packet.time_base * 1000
                cues.append((round(begin * tick), round((begin + (packet.duration or 0)) * tick), data))
        return codec, [(begin, end, data.decode()) for begin, end, data in cues]


def timed(texts, cues=CUES):
    return [(begin, end, text) for (begin, end, _), text in zip(cues, texts, strict=True)]


@pytest.mark.parametrize(
    ("codec", "source", "target", "becomes", "texts"),
    [
        ("subrip", ".mkv", ".mp4", "mov_text", PLAIN),
        ("subrip", ".mkv", ".mov", "mov_text", PLAIN),
        ("subrip", ".mkv", ".webm", "webvtt", TAGGED),
        ("subrip", ".mkv", ".mkv", "subrip", TAGGED),
        ("ass", ".mkv", ".mp4", "mov_text", PLAIN),
        ("ass", ".mkv", ".m4v", "mov_text", PLAIN),
        ("ass", ".mkv", ".webm", "webvtt", TAGGED),
        ("ass", ".mkv", ".mkv", "ass", [text for _, _, text in CUES]),
        ("mov_text", ".mp4", ".mkv", "subrip", TAGGED),
        ("mov_text", ".mp4", ".webm", "webvtt", TAGGED),
        ("mov_text", ".mp4", ".mov", "mov_text", PLAIN),
        ("webvtt", ".webm", ".mp4", "mov_text", PLAIN),
        ("webvtt", ".webm", ".mkv", "webvtt", TAGGED),
        ("webvtt", ".mkv", ".webm", "webvtt", TAGGED),
    ],
)
def test_text_is_kept_in_what_the_container_holds(tmp_path, codec, source, target, becomes, texts):
    make_titled_clip(tmp_path / f"a{source}", codec)
    notices = take_along(tmp_path / f"a{source}", tmp_path / f"b{target}")
    assert cues_of(tmp_path / f"b{target}") == (becomes, timed(texts))
    said = [notice for notice in notices if "subtitle" in notice]
    if becomes == codec:
        assert not said
    else:
        assert len(said) == 1
        assert said[0].startswith(
            f"The output's container cannot hold {codec}: subtitle track 2 of a{source} is converted to {becomes}"
        )
        assert ("of its looks" in said[0]) == (codec == "ass")
    with av.open(str(tmp_path / f"b{target}")) as container:
        assert container.streams.subtitles[0].language == "fra"


@pytest.mark.parametrize(("codec", "target"), [("subrip", ".mkv"), ("subrip", ".mp4"), ("ass", ".webm")])
def test_a_cut_shortens_and_moves_cues(tmp_path, codec, target):
    make_titled_clip(tmp_path / "a.mkv", codec)
    take_along(tmp_path / "a.mkv", tmp_path / f"b{target}", start=Fraction(1), end=Fraction(2))
    _, cues = cues_of(tmp_path / f"b{target}")
    assert [(begin, end) for begin, end, _ in cues] == [(0, 500), (800, 1000)]
    assert cues[0][2] == "First line"


def test_a_cue_from_long_before_the_cut_is_found(tmp_path):
    make_titled_clip(tmp_path / "a.mkv", "subrip", [(1000, 11_500, "Long"), (12_000, 12_500, "Late")], seconds=13)
    take_along(tmp_path / "a.mkv", tmp_path / "b.mkv", start=Fraction(11), end=Fraction(12))
    assert cues_of(tmp_path / "b.mkv")[1] == [(0, 500, "Long")]


def test_cues_that_overlap_share_the_screen_of_mp4(tmp_path):
    cues = [(500, 2500, "Lower"), (1000, 2000, "Upper"), (2200, 3000, "Later"), (3200, 3400, "Alone")]
    make_titled_clip(tmp_path / "a.mkv", "subrip", cues)
    take_along(tmp_path / "a.mkv", tmp_path / "b.mp4")
    assert cues_of(tmp_path / "b.mp4")[1] == [
        (500, 1000, "Lower"),
        (1000, 2000, "Lower\nUpper"),
        (2000, 2200, "Lower"),
        (2200, 2500, "Lower\nLater"),
        (2500, 3000, "Later"),
        (3200, 3400, "Alone"),
    ]
    take_along(tmp_path / "a.mkv", tmp_path / "b.webm")
    assert cues_of(tmp_path / "b.webm")[1] == cues


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 30)), max_size=8).map(sorted))
def test_at_every_moment_the_cues_of_that_moment_are_shown(cues):
    screen = _Screen(shares=True)
    shown: list[Any] = []
    for number, (begin, length) in enumerate(cues):
        shown += screen.show(begin, begin + length, [b"%d" % number])
    shown += screen.clear()
    assert all(begin < over for begin, over, _ in shown)
    assert all(earlier[1] <= later[0] for earlier, later in itertools.pairwise(shown))
    for moment in range(80):
        wanted = [b"%d" % number for number, (begin, length) in enumerate(cues) if begin <= moment < begin + length]
        assert [event for begin, over, events in shown if begin <= moment < over for event in events] == wanted


def test_where_no_text_fits_it_is_named(tmp_path):
    make_titled_clip(tmp_path / "a.mkv", "subrip")
    notices = take_along(tmp_path / "a.mkv", tmp_path / "b.avi")
    assert "The output's container cannot hold the subtitle track 2 (subrip) of a.mkv; it is left out." in notices


def test_pictures_of_text_that_do_not_fit_are_named(tmp_path):
    make_titled_clip(tmp_path / "a.mkv", "subrip")
    with_bitmaps(tmp_path / "a.mkv", tmp_path / "b.mkv")
    assert not [notice for notice in take_along(tmp_path / "b.mkv", tmp_path / "c.mkv") if "subtitle" in notice]
    notices = take_along(tmp_path / "b.mkv", tmp_path / "c.webm")
    assert "The output's container cannot hold the subtitle track 2 (dvb_subtitle) of b.mkv; it is left out." in notices


def with_bitmaps(source, target):
    """Copy picture and sound, and add a track of DVB subtitles with one packet that shows nothing."""
    with av.open(str(source)) as old, av.open(str(target), "w") as new:
        streams = {index: new.add_stream_from_template(old.streams[index], opaque=True) for index in (0, 1)}
        words = new.add_mux_stream("dvbsub")
        words.time_base = Fraction(1, 1000)
        packet = av.Packet(bytes((0x20, 0x00, 0x0F, 0x10, 0x00, 0x01, 0x00, 0x02, 0x05, 0x08, 0xFF)))
        packet.pts = packet.dts = 100
        packet.duration, packet.time_base, packet.stream = 400, Fraction(1, 1000), words
        new.mux(packet)
        for other in old.demux(old.streams[0], old.streams[1]):
            if other.size:
                other.stream = streams[other.stream.index]
                new.mux(other)


def test_events_of_one_packet_become_lines():
    assert _one_event([b"0,0,Default,,0,0,0,,One, two", b"1,0,Default,,0,0,0,,Three"]) == (
        rb"0,0,Default,,0,0,0,,One, two\NThree"
    )
    assert _one_event([b"0,0,Default,,0,0,0,, "]) == b""
    assert _one_event([]) == b""
