from __future__ import annotations

import errno
import os
import re
from fractions import Fraction

import av
import numpy as np
import pytest

from facefusion.core.errors import DiskFullError, OutputError, ResourceError, Stopped
from facefusion.core.stop import StopToken
from facefusion.core.values import Frame, Size
from facefusion.media.assemble import Cut, assemble
from facefusion.media.copying import PRE_ROLL
from facefusion.media.encoder import EncoderSettings, encoder_options
from facefusion.media.encoding import Encoding
from facefusion.media.failure import explained
from facefusion.media.probe import probe
from facefusion.media.reader import VideoReader
from facefusion.media.segment_writer import segment_writer
from facefusion.vision.colour import Coding, Matrix
from facefusion.vision.picture import BgrPicture, Layout, YuvPicture
from tests.media.clips import decode, make_clip, packets_of, planes_of, times_of
from tests.media.writing import LOSSLESS, transcode, write_segments, write_video

VARIABLE = (0, 512, 2048, 2560, 5120, 5632, 5700, 9000)


@pytest.mark.parametrize("pixel_format", ["yuv420p", "yuv422p", "yuv444p", "yuv420p10le"])
@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
def test_untouched_frames_reach_the_encoder_unchanged(tmp_path, pixel_format, suffix):
    source, target = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    pictures = make_clip(source, pixel_format=pixel_format)
    transcode(source, target)
    frames = decode(target)
    assert [frame.format.name for frame in frames] == [pixel_format] * len(pictures)
    for frame, planes in zip(frames, pictures, strict=True):
        assert all(np.array_equal(have, want) for have, want in zip(planes_of(frame), planes, strict=True))


@pytest.mark.parametrize(("pixel_format", "neutral"), [("gray", 128), ("gray10le", 512)])
def test_grey_stays_grey(tmp_path, pixel_format, neutral):
    """FFmpeg's H.264 decoder shows monochrome as 4:2:0 with neutral chroma."""
    pictures = make_clip(tmp_path / "a.mkv", pixel_format=pixel_format, codec="ffv1", options={})
    transcode(tmp_path / "a.mkv", tmp_path / "b.mkv")
    for frame, planes in zip(decode(tmp_path / "b.mkv"), pictures, strict=True):
        luma, *chroma = planes_of(frame)
        assert np.array_equal(luma, planes[0])
        assert all(np.all(plane == neutral) for plane in chroma)


def test_only_what_was_pasted_into_changes(tmp_path):
    pictures = make_clip(tmp_path / "a.mp4", options={"qp": "0", "bf": "3"})
    here = np.array([[1.0, 0.0, -20.0], [0.0, 1.0, -10.0]])

    def change(frame):
        frame.picture.paste(np.full((24, 24, 3), 255, np.uint8), np.ones((24, 24), np.float32), here)

    transcode(tmp_path / "a.mp4", tmp_path / "b.mp4", change=change)
    for frame, planes in zip(decode(tmp_path / "b.mp4"), pictures, strict=True):
        luma = planes_of(frame)[0]
        assert np.all(luma[12:32, 22:42] == 235)
        luma[9:35, 19:45] = planes[0][9:35, 19:45]
        assert np.array_equal(luma, planes[0])


def test_times_of_a_variable_rate_are_kept(tmp_path):
    make_clip(tmp_path / "a.mp4", stamps=VARIABLE)
    transcode(tmp_path / "a.mp4", tmp_path / "b.mp4")
    assert times_of(tmp_path / "b.mp4") == [Fraction(stamp, 12800) for stamp in VARIABLE]
    assert probe(tmp_path / "b.mp4").duration == probe(tmp_path / "a.mp4").duration


def test_a_late_start_is_kept(tmp_path):
    stamps = tuple(range(6400, 6400 + 8 * 512, 512))
    make_clip(tmp_path / "a.mp4", stamps=stamps, audio=("aac",))
    transcode(tmp_path / "a.mp4", tmp_path / "b.mp4")
    assert times_of(tmp_path / "b.mp4")[0] == Fraction(1, 2)
    assert packets_of(tmp_path / "b.mp4", 1) == packets_of(tmp_path / "a.mp4", 1)


@pytest.mark.parametrize(("suffix", "codecs"), [(".mp4", ("aac", "libopus")), (".mkv", ("flac", "aac"))])
def test_all_sound_is_copied_packet_for_packet(tmp_path, suffix, codecs):
    source, target = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    make_clip(source, audio=codecs, stamps=tuple(range(0, 25 * 512, 512)))
    transcode(source, target)
    for index in (1, 2):
        packets = packets_of(source, index)
        assert len(packets) > 10
        assert packets_of(target, index) == packets


def test_a_trimmed_clip_starts_at_zero_with_its_sound(tmp_path):
    source, target = tmp_path / "a.mp4", tmp_path / "b.mp4"
    pictures = make_clip(source, audio=("aac",), stamps=tuple(range(0, 50 * 512, 512)))
    transcode(source, target, start=20, end=40)
    frames = decode(target)
    assert len(frames) == 20
    assert np.array_equal(planes_of(frames[0])[0], pictures[20][0])
    assert times_of(target) == [Fraction(index, 25) for index in range(20)]
    shift, length = Fraction(20, 25), Fraction(20, 25)
    wanted = [
        (time - shift, data)
        for time, data in packets_of(source, 1)
        if shift - PRE_ROLL - Fraction(1024, 48000) < time < shift + length
    ]
    copied = packets_of(target, 1)
    assert [data for _, data in copied] == [data for _, data in wanted]
    assert max(abs(a - b) for (a, _), (b, _) in zip(copied, wanted, strict=True)) <= Fraction(1, 48000)


def test_tags_colour_and_pixel_aspect_are_kept(tmp_path):
    source, target = tmp_path / "a.mkv", tmp_path / "b.mkv"
    colour = {"colorspace": 9, "color_range": 1, "color_primaries": 9, "color_trc": 16}
    make_clip(source, pixel_format="yuv420p10le", colour=colour, aspect=Fraction(4, 3), audio=("aac",))
    titled = tmp_path / "c.mkv"
    with av.open(str(source)) as old, av.open(str(titled), "w") as new:
        new.metadata["title"] = "A title"
        new.set_chapters(
            [{"id": 1, "start": 0, "end": 200, "time_base": Fraction(1, 1000), "metadata": {"title": "One"}}]
        )
        pairs = {stream.index: new.add_stream_from_template(stream, opaque=True) for stream in old.streams}
        pairs[1].metadata["language"] = "deu"
        for packet in old.demux():
            if packet.size:
                packet.stream = pairs[packet.stream.index]
                new.mux(packet)
    transcode(titled, target)
    info = probe(target)
    assert (info.colour.matrix, info.colour.range, info.colour.primaries, info.colour.transfer) == (9, 1, 9, 16)
    assert info.sample_aspect == Fraction(4, 3)
    assert [track.language for track in info.tracks] == ["deu"]
    with av.open(str(target)) as container:
        assert container.metadata["title"] == "A title"
        assert [chapter["metadata"] for chapter in container.chapters()] == [{"title": "One"}]


@pytest.mark.parametrize("rotation", [90, 180, 270])
def test_rotated_clips_are_written_upright_without_the_tag(tmp_path, rotation):
    pictures = make_clip(tmp_path / "a.mp4", rotation=rotation)
    shown = decode(tmp_path / "a.mp4")[0].rotation
    transcode(tmp_path / "a.mp4", tmp_path / "b.mp4")
    frames = decode(tmp_path / "b.mp4")
    assert frames[0].rotation == 0
    for frame, planes in zip(frames, pictures, strict=True):
        for have, stored in zip(planes_of(frame), planes, strict=True):
            assert np.array_equal(have, np.rot90(stored, shown // 90))


def test_odd_sizes_are_cut_for_x264_and_said(tmp_path):
    pictures = make_clip(tmp_path / "a.mkv", width=65, height=47, codec="ffv1", options={})
    notices = transcode(tmp_path / "a.mkv", tmp_path / "b.mp4")
    assert notices == ["libx264 takes even sizes only: 65 x 47 is cut to 64 x 46."]
    for frame, planes in zip(decode(tmp_path / "b.mp4"), pictures, strict=True):
        luma, chroma, _ = planes_of(frame)
        assert np.array_equal(luma, planes[0][:46, :64])
        assert np.array_equal(chroma, planes[1][:23, :32])


def test_the_same_input_gives_the_same_bytes(tmp_path):
    make_clip(tmp_path / "a.mkv", audio=("aac",), options={"crf": "10"})
    for name in ("b.mkv", "c.mkv", "b.mp4", "c.mp4"):
        transcode(tmp_path / "a.mkv", tmp_path / name, EncoderSettings())
    assert (tmp_path / "b.mkv").read_bytes() == (tmp_path / "c.mkv").read_bytes()
    assert (tmp_path / "b.mp4").read_bytes() == (tmp_path / "c.mp4").read_bytes()


@pytest.mark.parametrize("error", [ValueError("no"), Stopped("stop")])
def test_an_error_in_the_middle_leaves_nothing_and_touches_nothing(tmp_path, error):
    make_clip(tmp_path / "a.mp4", audio=("aac",))
    target = tmp_path / "b.mp4"
    target.write_bytes(b"what was there")
    calls = []

    def change(frame):
        calls.append(frame.index)
        if frame.index == 5:
            raise error

    with pytest.raises(type(error)):
        transcode(tmp_path / "a.mp4", target, change=change)
    assert calls == [0, 1, 2, 3, 4, 5]
    assert target.read_bytes() == b"what was there"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.mp4", "b.mp4"]


def test_leaving_a_segment_unfinished_leaves_nothing(tmp_path):
    make_clip(tmp_path / "a.mp4")
    info = probe(tmp_path / "a.mp4")
    encoding = Encoding.plan(info, info.size, LOSSLESS, tmp_path / "b.mp4")
    with VideoReader(info) as reader, segment_writer(encoding, tmp_path / "0.mkv", StopToken()) as writer:
        for frame in reader:
            writer.write(frame)
        assert (tmp_path / "0.mkv").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.mp4"]


def test_frames_that_do_not_come_in_order_are_refused(tmp_path):
    make_clip(tmp_path / "a.mp4")
    info = probe(tmp_path / "a.mp4")
    encoding = Encoding.plan(info, info.size, LOSSLESS, tmp_path / "b.mp4")
    with VideoReader(info) as reader, segment_writer(encoding, tmp_path / "0.mkv", StopToken()) as writer:
        first = next(iter(reader))
        writer.write(first)
        with pytest.raises(OutputError, match="frame 0 does not come after the one before it"):
            writer.write(first)


@pytest.mark.parametrize("encoder", ["libx264", "libx265", "libvpx-vp9"])
@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
def test_joined_segments_keep_times_and_pictures_in_order(tmp_path, encoder, suffix):
    """Also where the rate changes at a joint, and where the encoder gives frames back in another order."""
    stamps = [0, 200, 400, 600, 800, 5000, 9000, 13000, 13100, 13200, 13300, 13400, 22000, 30000, 30100, 30200, 31000]
    greys = [np.full(shape, 16 + 12 * number, np.uint8) for number in range(len(stamps)) for shape in ((64, 96),)]
    pictures = [[luma, np.full((32, 48), 128, np.uint8), np.full((32, 48), 128, np.uint8)] for luma in greys]
    make_clip(tmp_path / "a.mp4", stamps=stamps, pictures=pictures)
    notices = transcode(
        tmp_path / "a.mp4", tmp_path / f"b{suffix}", EncoderSettings(encoder=encoder, quality=90), length=6
    )
    assert notices == []
    exact = [Fraction(stamp, 12800) for stamp in stamps]
    step = Fraction(1, 2000) if suffix == ".mkv" else 0
    times = times_of(tmp_path / f"b{suffix}")
    assert max(abs(have - want) for have, want in zip(times, exact, strict=True)) <= step
    shown = [planes_of(frame)[0].mean() for frame in decode(tmp_path / f"b{suffix}")]
    assert np.abs(np.array(shown) - [luma[0, 0] for luma in greys]).max() < 3


def test_places_and_names_that_cannot_be_written(tmp_path):
    make_clip(tmp_path / "a.mp4")
    info = probe(tmp_path / "a.mp4")
    for path, message in (
        (tmp_path / "none" / "b.mp4", "the output folder .*none does not exist. Create it"),
        (tmp_path, "is a folder"),
    ):
        with pytest.raises(OutputError, match=message), VideoReader(info) as reader:
            encoding = Encoding.plan(info, info.size, LOSSLESS, tmp_path / "b.mp4")
            segments = list(write_segments(reader, encoding, tmp_path, 99))
            assemble(path, segments, encoding, info, Cut(), StopToken())
    with pytest.raises(OutputError, match=r"b\.txt has no extension of a video that can be written. Use one of \.avi"):
        Encoding.plan(info, info.size, LOSSLESS, tmp_path / "b.txt")
    with pytest.raises(OutputError, match="would hold no frame"):
        write_video(tmp_path / "b.mp4", info, ())
    assert not (tmp_path / "b.mp4").exists()


def test_a_container_that_cannot_hold_the_encoder_says_what_is_used(tmp_path):
    make_clip(tmp_path / "a.mp4", audio=("libopus",))
    notices = transcode(tmp_path / "a.mp4", tmp_path / "b.webm", EncoderSettings())
    assert notices == [".webm cannot hold libx264; libvpx-vp9 is used instead."]
    with av.open(str(tmp_path / "b.webm")) as container:
        assert [stream.codec_context.name for stream in container.streams] == ["vp9", "opus"]


def test_sound_that_the_container_cannot_hold_is_encoded_anew_in_step(tmp_path):
    make_clip(tmp_path / "a.mp4", audio=("aac",), stamps=tuple(range(0, 50 * 512, 512)))
    notices = transcode(tmp_path / "a.mp4", tmp_path / "b.webm", EncoderSettings())
    assert notices[1] == ("The output's container cannot hold aac: audio track 1 of a.mp4 is encoded anew as libopus.")
    old, new = sound_of(tmp_path / "a.mp4"), sound_of(tmp_path / "b.webm")
    length = min(len(old), len(new)) - 4800
    assert abs(len(old) - len(new)) <= 1024
    assert np.corrcoef(old[2400:length], new[2400:length])[0, 1] > 0.995


def sound_of(path):
    """Left channel at 48 kHz, from time 0 on."""
    with av.open(str(path)) as container:
        frames = list(container.decode(audio=0))
    samples = np.concatenate([frame.to_ndarray().astype(np.float64)[0] for frame in frames])
    first = round((frames[0].pts or 0) * (frames[0].time_base or Fraction(1)) * 48000)
    return samples[-first:] if first < 0 else np.concatenate((np.zeros(first), samples))


def test_pictures_of_another_size_and_kind(tmp_path):
    """What a frame-wide processor hands on: YUV of twice the size, and plain BGR."""
    make_clip(tmp_path / "a.mp4", colour={"colorspace": 1, "color_range": 1})
    info = probe(tmp_path / "a.mp4")
    colours = np.array([[40, 60, 200], [200, 100, 50], [128, 128, 128], [20, 230, 110]], np.uint8)
    pixels = np.repeat(np.repeat(colours.reshape(2, 2, 3), 64, axis=0), 96, axis=1)
    layout = Layout(Coding(Matrix.BT709, full_range=False, bit_depth=8), 2, 2)
    small = YuvPicture(tuple(np.zeros((2, 2), np.uint8) for _ in range(3)), layout)
    step = Fraction(1, 25)
    frames = [Frame(0, Fraction(0), small.replaced_by(pixels), step), Frame(1, step, BgrPicture(pixels), step)]
    write_video(tmp_path / "b.mp4", info, frames, size=Size(192, 128))
    with VideoReader(probe(tmp_path / "b.mp4")) as reader:
        for frame in reader:
            found = frame.picture.to_bgr()[32::64, 48::96]
            assert np.abs(found.astype(int) - colours.reshape(2, 2, 3)).max() <= 2


@pytest.mark.parametrize(
    ("encoder", "quality", "key", "value"),
    [
        ("libx264", 80, "crf", "10"),
        ("libx264", 0, "crf", "51"),
        ("libx264", 50, "crf", "26"),
        ("libx265", 25, "crf", "38"),
        ("libvpx-vp9", 80, "crf", "13"),
        ("libvpx-vp9", 50, "crf", "32"),
        ("h264_nvenc", 80, "cq", "10"),
        ("h264_nvenc", 100, "cq", "1"),
        ("av1_nvenc", 50, "cq", "32"),
        ("h264_amf", 100, "qp_i", "0"),
        ("hevc_qsv", 80, "global_quality", "10"),
        ("h264_videotoolbox", 50, "b", "25768k"),
        ("hevc_videotoolbox", 100, "b", "50512k"),
    ],
)
def test_quality_in_the_encoders_own_terms(encoder, quality, key, value):
    assert encoder_options(EncoderSettings(encoder=encoder, quality=quality))[key] == value


def test_pyavs_logging_is_off():
    """Its callback takes Python's global lock: a decoder's thread that logs during a close would hang the program."""
    assert av.logging.get_level() is None


@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
def test_a_part_that_ends_before_the_sound_begins_is_whole(tmp_path, suffix):
    plain, late = tmp_path / "plain.mp4", tmp_path / "late.mp4"
    make_clip(plain, audio=("aac",))
    with av.open(str(plain)) as source, av.open(str(late), "w") as output:
        targets = {stream.index: output.add_stream_from_template(stream) for stream in source.streams}
        for packet in source.demux():
            if packet.size and packet.pts is not None and packet.dts is not None:
                delay = 24000 if packet.stream.type == "audio" else 0
                packet.pts, packet.dts = packet.pts + delay, packet.dts + delay
                packet.stream = targets[packet.stream.index]
                output.mux(packet)
    notices = transcode(late, tmp_path / f"out{suffix}", end=2)
    assert len(decode(tmp_path / f"out{suffix}")) == 2
    assert "Track 1 holds nothing in this part of the source." in notices


@pytest.mark.parametrize(
    ("number", "kind", "message"),
    [
        (errno.ENOSPC, DiskFullError, "out.mp4 cannot be written: the disk is full. Free some space"),
        (errno.ENOMEM, ResourceError, "out.mp4: there is no memory left for libx264. Raise --system-memory-limit"),
        (errno.EIO, OutputError, "out.mp4 cannot be written: the disk reports an error. Choose another folder"),
        (errno.EINVAL, OutputError, r"out.mp4 cannot be written with libx264 \(Invalid argument\)"),
    ],
)
def test_what_ffmpeg_says_is_put_in_words(tmp_path, number, kind, message):
    said = OSError(number, os.strerror(number), str(tmp_path / "hidden.part"))
    error = explained(said, tmp_path / "out.mp4", "libx264")
    assert type(error) is kind
    assert re.search(message, str(error))
