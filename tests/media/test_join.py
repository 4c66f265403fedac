"""Videos put one after the other: every picture and sound of each, at its time, in one file."""

from __future__ import annotations

import os
import shutil
import sys
from fractions import Fraction
from itertools import pairwise

import av
import numpy as np
import pytest
from av.stream import AttachmentStream, Disposition
from PIL import Image

from facefusion.core.errors import MediaError, OutputError, Stopped
from facefusion.core.stop import StopToken
from facefusion.media.animation import animation_facts, write_animation
from facefusion.media.codec_header import common_header, comparable
from facefusion.media.encoder import EncoderSettings
from facefusion.media.finished_video import FinishedVideo
from facefusion.media.join import join_videos
from facefusion.media.probe import probe
from tests.media.clips import decode, make_clip, packets_of, planes_of, times_of
from tests.media.odd_clips import make_moving, make_with_alpha
from tests.media.odd_tracks import heard, lag, make_noisy_clip
from tests.media.test_animation import as_shown, drawings, frames
from tests.media.test_subtitles import CUES, PLAIN, cues_of, make_titled_clip, timed
from tests.media.test_tracks import make_rich_clip
from tests.media.writing import transcode

STOP = StopToken()
QUICK = EncoderSettings("libx264", preset="ultrafast", threads=2)
WITH_B_FRAMES = EncoderSettings("libx264", threads=2, options=(("bf", "3"), ("g", "12")))
TICK = Fraction(1, 500)
"""More than Matroska rounds by."""


def join(folder, *parts, name="out"):
    """The joined file and what was said."""
    output = folder / f"{name}{parts[0].suffix}"
    return output, join_videos(parts, output, STOP)


def cut(source, path, start, end, settings=QUICK):
    transcode(source, path, settings, start=start, end=end, length=20)
    return path


def lumas(*paths):
    return [planes_of(frame)[0] for path in paths for frame in decode(path)]


def same(one, other):
    return len(one) == len(other) and all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def chapters_of(path):
    """Title, begin and end in seconds."""
    with av.open(str(path)) as container:
        return [
            (chapter["metadata"]["title"], *(chapter[at] * (chapter["time_base"] or 0) for at in ("start", "end")))
            for chapter in container.chapters()
        ]


@pytest.mark.parametrize(
    ("suffix", "codec", "settings"),
    [
        (".mp4", "aac", WITH_B_FRAMES),
        (".mp4", "libopus", EncoderSettings("libx265", preset="ultrafast", threads=2)),
        (".mkv", "aac", WITH_B_FRAMES),
        (".mkv", "flac", EncoderSettings("libsvtav1", threads=2)),
        (".mov", "aac", WITH_B_FRAMES),
        (".m4v", "libmp3lame", QUICK),
        (".webm", "libopus", EncoderSettings("libvpx-vp9", threads=2)),
        (".avi", "aac", EncoderSettings("rawvideo", threads=2)),
        (".mpeg", "mp2", WITH_B_FRAMES),
        (".wmv", "aac", QUICK),
        (".mxf", "pcm_s16le", QUICK),
    ],
)
def test_parts_of_one_target_become_what_it_is_in_one_piece(tmp_path, suffix, codec, settings):
    source = tmp_path / ("source.mov" if codec == "pcm_s16le" else "source.mkv")
    if codec == "mp2":  # MPEG puts several tiny frames in a packet, and then tells no times of them
        make_clip(source, stamps=tuple(range(0, 75 * 512, 512)), audio=(codec,))
    else:
        make_noisy_clip(source, (codec,), seconds=3)
    first = cut(source, tmp_path / f"first{suffix}", 8, 31, settings)
    second = cut(source, tmp_path / f"second{suffix}", 31, 60, settings)
    output, said = join(tmp_path, first, second)
    assert said == ()
    assert same(lumas(output), lumas(first, second))
    times = FinishedVideo.read(output, STOP).stamps
    steps = {later - one for one, later in pairwise(times)}
    tick = FinishedVideo.read(output, STOP).tick
    assert all(abs(step * tick - Fraction(1, 25)) < TICK for step in steps)
    whole = cut(source, tmp_path / f"whole{suffix}", 8, 60, settings)
    joined, at_once = packets_of(output, 1), packets_of(whole, 1)
    assert [data for _, data in joined] == [data for _, data in at_once]
    assert max(abs(a - b) for (a, _), (b, _) in zip(joined, at_once, strict=True)) < TICK


@pytest.mark.parametrize(("suffix", "codec"), [(".mp4", "aac"), (".mkv", "libopus"), (".avi", "libmp3lame")])
def test_sound_stays_in_step_with_every_part(tmp_path, suffix, codec):
    make_noisy_clip(tmp_path / "source.mkv", (codec,), seconds=4)
    bounds = [(70, 95), (0, 33), (51, 80), (10, 45)]
    parts = [cut(tmp_path / "source.mkv", tmp_path / f"{index}{suffix}", *at) for index, at in enumerate(bounds)]
    output, _ = join(tmp_path, *parts)
    everything, rate, _ = heard(output)
    offset = Fraction(0)
    for part, (start, end) in zip(parts, bounds, strict=True):
        own = heard(part)[0]
        at = round(offset * rate)
        late, alike = lag(own, everything[at:], 9600)
        # Sound of AVI has no times: it is off by half a packet at most. Matroska counts milliseconds.
        nearest = {".avi": 700, ".mkv": 96, ".mp4": 1}[suffix]
        assert abs(late) <= nearest
        assert alike > 0.98
        offset += Fraction(end - start, 25)
    assert len(decode(output)) == sum(end - start for start, end in bounds)


def test_plain_samples_are_cut_to_the_sample(tmp_path):
    make_noisy_clip(tmp_path / "source.mov", ("pcm_s16le",), seconds=3)
    parts = [
        cut(tmp_path / "source.mov", tmp_path / f"{i}.mov", *at) for i, at in enumerate([(3, 20), (40, 61), (7, 9)])
    ]
    output, _ = join(tmp_path, *parts)
    lengths = [17 * 1920, 21 * 1920, None]  # nothing follows the last one
    expected = np.concatenate([heard(part)[0][:length] for part, length in zip(parts, lengths, strict=True)])
    assert np.array_equal(heard(output)[0], expected)


@pytest.mark.parametrize(("suffix", "codec"), [(".mp4", "aac"), (".mov", "pcm_s16le"), (".mkv", "aac")])
def test_a_part_without_sound_is_silent(tmp_path, suffix, codec):
    make_noisy_clip(tmp_path / "source.mov", (codec,), seconds=3)
    loud = cut(tmp_path / "source.mov", tmp_path / f"loud{suffix}", 0, 25)
    with av.open(str(loud)) as old, av.open(str(tmp_path / f"mute{suffix}"), "w") as new:
        stream = new.add_stream_from_template(old.streams.video[0], opaque=True)
        for packet in old.demux(video=0):
            if packet.size:
                packet.stream = stream
                new.mux(packet)
    mute = tmp_path / f"mute{suffix}"
    output, said = join(tmp_path, mute, loud, mute, loud)
    assert said == ()
    everything, rate, _ = heard(output)
    for second, is_loud in ((0, False), (1, True), (2, False), (3, True)):
        middle = everything[round((second + 0.1) * rate) : round((second + 0.9) * rate)]
        assert bool(np.std(middle) > 0.01) is is_loud
    late, alike = lag(heard(loud)[0], everything[3 * rate :], 9600)
    assert abs(late) <= 48
    assert alike > 0.98


def test_sound_that_goes_on_after_a_part_is_left_out_and_said(tmp_path):
    make_noisy_clip(tmp_path / "a.mp4", seconds=1, sound_seconds=1.5)
    make_noisy_clip(tmp_path / "b.mp4", seconds=1, sound_seconds=1.5)
    output, said = join(tmp_path, tmp_path / "a.mp4", tmp_path / "b.mp4")
    assert len(said) == 1
    assert said[0].startswith("The sound of a.mp4 goes on for 0.5")
    assert said[0].endswith(" s after its picture, where the next begins.")
    everything, rate, _ = heard(output)
    assert abs(lag(heard(tmp_path / "b.mp4")[0], everything[rate:], 4800)[0]) <= 48
    assert len(everything) / rate == pytest.approx(2.5, abs=0.05)


def test_avi_cannot_hold_a_hole_in_its_sound(tmp_path):
    make_noisy_clip(tmp_path / "a.avi", ("libmp3lame",), seconds=2, sound_seconds=1)
    make_noisy_clip(tmp_path / "b.avi", ("libmp3lame",), seconds=1)
    with pytest.raises(OutputError, match=r"no sound for 1\.\d\d s before b\.avi begins.*extension \.mp4"):
        join(tmp_path, tmp_path / "a.avi", tmp_path / "b.avi")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.avi", "b.avi"]


def test_videos_of_other_rates_keep_their_times(tmp_path):
    """Their parameter sets differ in a clock and a level, which no decoder's picture depends on."""
    make_moving(tmp_path / "25.mp4", count=10, rate=25, size=(320, 240))
    make_moving(tmp_path / "30.mp4", count=30, rate=30, size=(320, 240))
    for rate, name in ((25, "a"), (30, "b")):
        transcode(tmp_path / f"{rate}.mp4", tmp_path / f"{name}.mp4", WITH_B_FRAMES, length=20)
    first, second = (FinishedVideo.read(tmp_path / f"{name}.mp4", STOP) for name in "ab")
    assert first.header != second.header
    output, _ = join(tmp_path, first.path, second.path)
    assert same(lumas(output), lumas(first.path, second.path))
    own = [time + Fraction(10, 25) for time in times_of(second.path)]
    assert max(abs(a - b) for a, b in zip(times_of(output), times_of(first.path) + own, strict=True)) < TICK


def test_times_of_a_variable_rate_are_kept(tmp_path):
    stamps = (0, 512, 2048, 2560, 5120, 5632, 5700, 9000)
    make_clip(tmp_path / "a.mp4", stamps=stamps)
    transcode(tmp_path / "a.mp4", tmp_path / "b.mp4")
    output, _ = join(tmp_path, tmp_path / "b.mp4", tmp_path / "b.mp4")
    length = FinishedVideo.read(tmp_path / "b.mp4", STOP).over
    own = [Fraction(stamp, 12800) for stamp in stamps]
    assert times_of(output) == own + [time + length for time in own]


def alone(path, **options):
    make_clip(path, stamps=(0, 512, 1024), options={"preset": "ultrafast"}, **options)
    return path


@pytest.mark.parametrize(
    ("other", "fault", "remedy"),
    [
        (
            {"width": 64},
            "they differ in size (96 x 64 and 64 x 64)",
            "--output-video-scale or --output-video-resolution",
        ),
        (
            {"pixel_format": "yuv444p"},
            "they differ in pixel format (yuv420p and yuv444p)",
            "--output-video-pixel-format",
        ),
        ({"codec": "libx265"}, "they differ in codec (h264 and hevc)", "--output-video-encoder"),
        (
            {"colour": {"colorspace": 1}},
            "they differ in colour description (matrix 2, range 0, primaries 2, transfer 2 and matrix 1, range 1, ",
            "of targets that are alike",
        ),
        ({"aspect": Fraction(4, 3)}, "they differ in pixel aspect (1:1 and 4:3)", "of targets that are alike"),
        ({"audio": ("libmp3lame",)}, "their sound tracks 1 differ in codec (aac and mp3)", "--output-audio-encoder"),
        (
            {"audio": ("flac", "flac")},
            "the second lacks a sound track like each of the first",
            "--output-audio-encoder",
        ),
    ],
)
def test_what_cannot_be_joined_is_named(tmp_path, other, fault, remedy):
    first = alone(tmp_path / "first.mkv", audio=("aac",))
    second = alone(tmp_path / "second.mkv", **({"audio": ("aac",)} | other))
    output = tmp_path / "out.mkv"
    output.write_bytes(b"what was there")
    with pytest.raises(OutputError) as caught:
        join_videos([first, second], output, STOP)
    assert f"{tmp_path}/" in str(caught.value) or os.sep == "\\"
    assert "first.mkv and" in caught.value.fault or "second.mkv and" in caught.value.fault
    assert fault in caught.value.fault
    assert remedy in caught.value.remedy
    assert caught.value.remedy.endswith("Or give each an output of its own.")
    assert output.read_bytes() == b"what was there"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first.mkv", "out.mkv", "second.mkv"]


def test_other_settings_of_the_encoder_are_named(tmp_path):
    make_moving(tmp_path / "source.mkv", count=6)
    transcode(tmp_path / "source.mkv", tmp_path / "a.mp4", EncoderSettings("libx264", preset="ultrafast"))
    transcode(tmp_path / "source.mkv", tmp_path / "b.mp4", EncoderSettings("libx264", preset="medium"))
    with pytest.raises(OutputError, match=r"they differ in encoder settings\. .*--output-video-fps\."):
        join(tmp_path, tmp_path / "a.mp4", tmp_path / "b.mp4")


def test_parts_have_to_be_videos_in_the_outputs_container(tmp_path):
    make_clip(tmp_path / "a.mp4")
    make_clip(tmp_path / "b.mkv")
    with pytest.raises(OutputError, match=r"they differ in container \(mp4 and matroska\)\. Give both the same exten"):
        join_videos([tmp_path / "a.mp4", tmp_path / "b.mkv"], tmp_path / "out.mp4", STOP)
    with pytest.raises(OutputError, match=r"a\.mp4 is no \.mkv file, so it cannot be joined to .*out\.mkv"):
        join_videos([tmp_path / "a.mp4", tmp_path / "a.mp4"], tmp_path / "out.mkv", STOP)
    with pytest.raises(MediaError, match=r"none\.mp4 does not exist"):
        join_videos([tmp_path / "a.mp4", tmp_path / "none.mp4"], tmp_path / "out.mp4", STOP)
    Image.new("RGB", (8, 8)).save(tmp_path / "still.png")
    shutil.copy(tmp_path / "still.png", tmp_path / "still.mp4")
    with pytest.raises(MediaError, match=r"still\.mp4 is no video"):
        join_videos([tmp_path / "a.mp4", tmp_path / "still.mp4"], tmp_path / "out.mp4", STOP)


def test_a_stop_leaves_what_was_there(tmp_path):
    make_clip(tmp_path / "a.mp4")
    (tmp_path / "out.mp4").write_bytes(b"old")
    stop = StopToken()
    stop.request("enough")
    with pytest.raises(Stopped):
        join_videos([tmp_path / "a.mp4"] * 2, tmp_path / "out.mp4", stop)
    assert (tmp_path / "out.mp4").read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.mp4", "out.mp4"]


def test_a_part_may_be_the_output_itself(tmp_path):
    make_clip(tmp_path / "a.mp4")
    before = lumas(tmp_path / "a.mp4")
    join_videos([tmp_path / "a.mp4"] * 2, tmp_path / "a.mp4", STOP)
    assert same(lumas(tmp_path / "a.mp4"), before * 2)


@pytest.mark.skipif(sys.platform == "win32", reason="such names are not possible there")
@pytest.mark.parametrize(
    "name", ["it's a 'name'", 'quo"te', "100% %d", "new\nline", "br[ack]et", os.fsdecode(b"\xff\xfe")]
)
def test_names_are_names(tmp_path, name):
    folder = tmp_path / name
    folder.mkdir()
    make_clip(tmp_path / "a.mp4", stamps=(0, 512))
    part = folder / f"{name}-1.mp4"
    shutil.copy(tmp_path / "a.mp4", part)
    join_videos([part, part], folder / f"{name}.mp4", STOP)
    assert len(decode(folder / f"{name}.mp4")) == 4


def test_everything_beside_the_picture_is_taken_along(tmp_path):
    make_rich_clip(tmp_path / "source.mkv")
    parts = [cut(tmp_path / "source.mkv", tmp_path / f"{i}.mkv", *at) for i, at in enumerate([(0, 60), (60, 100)])]
    output, said = join(tmp_path, *parts)
    assert said == ()
    with av.open(str(output)) as container:
        tags = container.metadata
        assert (tags["title"], tags["ARTIST"], tags["SOMETHING"]) == ("A title", "Somebody", "else")
        tracks = container.streams.audio
        assert [track.language for track in tracks] == ["deu", "eng"]
        assert [track.metadata["title"] for track in tracks] == ["Ton", "Comments"]
        assert tracks[1].disposition == Disposition.default | Disposition.comment
        attachment = next(stream for stream in container.streams if isinstance(stream, AttachmentStream))
        assert (attachment.name, attachment.data) == ("note.txt", b"a note")
        assert container.streams.video[1].disposition == Disposition.attached_pic
    assert chapters_of(output) == [("One", 0, 2), ("Two", 2, 4)]  # the second was in both parts


def test_a_cover_is_kept_in_mp4(tmp_path):
    make_rich_clip(tmp_path / "source.mkv")
    parts = [cut(tmp_path / "source.mkv", tmp_path / f"{i}.mp4", *at) for i, at in enumerate([(0, 20), (30, 50)])]
    output, _ = join(tmp_path, *parts)
    with av.open(str(output)) as container, av.open(str(parts[0])) as part:
        cover = container.streams.video[1]
        assert cover.disposition & Disposition.attached_pic
        [data] = [bytes(packet) for packet in container.demux(cover) if packet.size]
        assert data == next(bytes(packet) for packet in part.demux(part.streams.video[1]) if packet.size)


def test_chapters_of_different_parts_stay_apart(tmp_path):
    make_rich_clip(tmp_path / "source.mkv")
    part = cut(tmp_path / "source.mkv", tmp_path / "0.mkv", 25, 75)
    output, _ = join(tmp_path, part, part)
    assert chapters_of(output) == [("One", 0, 1), ("Two", 1, 2), ("One", 2, 3), ("Two", 3, 4)]


@pytest.mark.parametrize(("codec", "suffix"), [("subrip", ".mkv"), ("subrip", ".mp4")])
def test_a_cue_over_a_joint_is_shown_in_both_parts(tmp_path, codec, suffix):
    make_titled_clip(tmp_path / "source.mkv", codec)
    bounds = [(0, 50), (50, 100)]  # cut at 2 s, within the second cue
    parts = [cut(tmp_path / "source.mkv", tmp_path / f"{index}{suffix}", *at) for index, at in enumerate(bounds)]
    output, said = join(tmp_path, *parts)
    assert said == ()
    first, second, third = timed(PLAIN, CUES) if suffix == ".mp4" else timed(cues_of(tmp_path / "source.mkv")[1])
    text = second[2]
    shown = cues_of(output)[1]
    if suffix == ".mkv":
        text, first, third = shown[1][2], shown[0], shown[3]
        assert (first[:2], third[:2]) == (CUES[0][:2], CUES[2][:2])
    assert shown == [first, (1800, 2000, text), (2000, 2600, text), third]


def test_a_part_without_a_word_has_no_subtitles_and_is_joined_all_the_same(tmp_path):
    make_titled_clip(tmp_path / "source.mkv", "subrip")
    bounds = [(0, 10), (10, 100)]
    parts = [cut(tmp_path / "source.mkv", tmp_path / f"{index}.mp4", *at) for index, at in enumerate(bounds)]
    output, _ = join(tmp_path, *parts)
    assert cues_of(output) == ("mov_text", timed(PLAIN, CUES))
    with av.open(str(output)) as container:
        assert container.streams.subtitles[0].language == "fra"


def test_transparency_is_kept(tmp_path):
    make_with_alpha(tmp_path / "source.mov", "prores_ks", "yuva444p10le", {})
    transcode(tmp_path / "source.mov", tmp_path / "part.webm", EncoderSettings("libvpx-vp9", threads=2))
    output, _ = join(tmp_path, tmp_path / "part.webm", tmp_path / "part.webm")
    assert probe(output).alpha
    assert len(decode(output)) == 12


def test_apples_players_know_the_hevc_in_mp4(tmp_path):
    make_moving(tmp_path / "source.mkv", count=6)
    transcode(tmp_path / "source.mkv", tmp_path / "part.mp4", EncoderSettings("libx265", preset="ultrafast", threads=2))
    output, _ = join(tmp_path, tmp_path / "part.mp4", tmp_path / "part.mp4")
    with av.open(str(output)) as container:
        assert container.streams.video[0].codec_context.codec_tag == "hvc1"


@pytest.mark.parametrize(
    ("suffix", "alpha"),
    [(suffix, alpha) for suffix in (".gif", ".png", ".webp") for alpha in ((False, False), (True, True))]
    + [(".png", (False, True)), (".webp", (False, True))],
)
def test_animated_images_are_joined_too(tmp_path, suffix, alpha):

    parts = [tmp_path / f"{number}{suffix}" for number in range(2)]
    for path, is_clear in zip(parts, alpha, strict=True):
        write_animation(frames(drawings(alpha=is_clear)), path, quality=100, loops=3)
    output, _ = join(tmp_path, *parts)
    one, other, both = (animation_facts(path) for path in (*parts, output))
    assert one is not None
    assert other is not None
    assert both is not None
    assert both.delays == one.delays + other.delays
    assert (both.loops, both.size) == (3, one.size)
    assert same(as_shown(output), as_shown(parts[0]) + as_shown(parts[1]))


def test_what_does_not_move_or_is_of_another_size_is_no_part(tmp_path):

    write_animation(frames(drawings()), tmp_path / "a.gif", quality=100)
    write_animation(frames(drawings(width=50)), tmp_path / "b.gif", quality=100)
    Image.new("RGB", (40, 30)).save(tmp_path / "still.gif")
    with pytest.raises(OutputError, match=r"b\.gif cannot be joined: they differ in size \(40 x 30 and 50 x 30\)"):
        join(tmp_path, tmp_path / "a.gif", tmp_path / "b.gif")
    with pytest.raises(MediaError, match=r"still\.gif does not move"):
        join(tmp_path, tmp_path / "a.gif", tmp_path / "still.gif")


def test_headers_are_compared_without_what_may_differ():
    streaminfo = bytes.fromhex("1000 1000 00000e 002a4b 0ac442f0 0000ac44") + bytes(range(16))
    longer = bytes.fromhex("1000 1000 000011 003333 0ac442f0 00015888") + bytes(range(16, 32))
    other = bytes.fromhex("1000 1000 00000e 002a4b 0bb802f0 0000ac44") + bytes(range(16))
    assert comparable("flac", streaminfo) == comparable("flac", longer) != comparable("flac", other)
    assert common_header("flac", [streaminfo, longer]) == bytes.fromhex("1000 1000 000000 000000 0ac442f0") + bytes(20)
    assert comparable("aac", b"\x12\x10") == b"\x12\x10"
    assert common_header("vp9", [b""]) == b""
