from __future__ import annotations

import io
import itertools
from fractions import Fraction
from typing import cast

import av
import numpy as np
import pytest
from av.video.frame import VideoFrame
from av.video.stream import VideoStream
from PIL import Image

from facefusion.core.errors import MediaError
from facefusion.core.formats import MediaKind
from facefusion.media.frames import DecodedPlanes
from facefusion.media.orientation import Orientation
from facefusion.media.probe import probe
from facefusion.media.reader import Damage, VideoReader, read_frame
from facefusion.vision.colour import Coding, Matrix
from facefusion.vision.picture import BgrPicture, YuvPicture
from tests.media.clips import decode, make_clip, planes_of
from tests.media.odd_clips import make_moving, shifted_copy, with_garbage

VARIABLE = (0, 512, 2048, 2560, 5120, 5632, 5700, 9000)


def yuv(picture):
    assert isinstance(picture, YuvPicture)
    return picture


def read_all(path, **options):
    info = probe(path)
    with VideoReader(info, threads=1, **options) as reader:
        return list(reader)


@pytest.mark.parametrize(
    ("name", "pixel_format", "codec", "size"),
    [
        ("a.mp4", "yuv420p", "libx264", (96, 64)),
        ("a.mp4", "yuv422p", "libx264", (96, 64)),
        ("a.mp4", "yuv444p10le", "libx264", (96, 64)),
        ("a.mkv", "yuv420p", "ffv1", (65, 47)),
        ("a.mkv", "yuv420p16le", "ffv1", (65, 47)),
        ("a.mkv", "yuv410p", "ffv1", (65, 47)),
        ("a.mkv", "gray", "ffv1", (65, 47)),
        ("a.mkv", "gray10le", "ffv1", (65, 47)),
    ],
)
def test_planes_are_the_decoders_own(tmp_path, name, pixel_format, codec, size):
    path = tmp_path / name
    options = {"qp": "0", "profile": "high444"} if codec == "libx264" else {}
    pictures = make_clip(path, width=size[0], height=size[1], pixel_format=pixel_format, codec=codec, options=options)
    frames = read_all(path)
    assert len(frames) == len(pictures)
    for frame, planes in zip(frames, pictures, strict=True):
        assert all(np.array_equal(ours, want) for ours, want in zip(yuv(frame.picture).planes, planes, strict=True))
        assert not yuv(frame.picture).planes[0].flags.writeable


def test_planes_lie_in_the_decoders_memory_until_they_are_written_to(tmp_path):
    make_clip(tmp_path / "a.mp4", options={"bf": "2"})
    for frame in read_all(tmp_path / "a.mp4"):
        picture = yuv(frame.picture)
        assert isinstance(picture.store, DecodedPlanes)
        own = [np.frombuffer(cast("memoryview", plane), np.uint8) for plane in picture.store.frame.planes]
        assert all(np.shares_memory(plane, memory) for plane, memory in zip(picture.planes, own, strict=True))
        before = [plane.copy() for plane in picture.planes]
        picture.paste(np.full((8, 8, 3), 255, np.uint8), np.ones((8, 8), np.float32), np.eye(2, 3))
        own = [np.frombuffer(cast("memoryview", plane), np.uint8) for plane in picture.store.frame.planes]
        assert all(np.shares_memory(plane, memory) for plane, memory in zip(picture.planes, own, strict=True))
        assert not np.array_equal(picture.planes[0], before[0])


def test_probe_tells_what_a_player_shows(tmp_path):
    path = tmp_path / "a.mp4"
    make_clip(path, audio=("aac", "aac"), aspect=Fraction(4, 3), colour={"colorspace": 1, "color_range": 2})
    info = probe(path)
    assert (info.kind, info.size, info.coded_size) == (MediaKind.VIDEO, (96, 64), (96, 64))
    assert (info.frame_rate, info.duration, info.start_time) == (Fraction(25), Fraction(8, 25), Fraction(0))
    assert info.frame_count == 8
    assert (info.bit_depth, info.sample_aspect) == (8, Fraction(4, 3))
    assert (info.colour.matrix, info.colour.range) == (1, 2)
    assert [(track.kind, track.codec) for track in info.tracks] == [("audio", "aac"), ("audio", "aac")]
    assert info.notices == ()


@pytest.mark.parametrize(
    ("height", "colour", "coding"),
    [
        (64, {}, Coding(Matrix.BT601, full_range=False, bit_depth=8)),
        (720, {}, Coding(Matrix.BT709, full_range=False, bit_depth=8)),
        (64, {"colorspace": 1}, Coding(Matrix.BT709, full_range=False, bit_depth=8)),
        (64, {"colorspace": 9, "color_range": 1}, Coding(Matrix.BT2020, full_range=False, bit_depth=8)),
        (720, {"colorspace": 5, "color_range": 2}, Coding(Matrix.BT601, full_range=True, bit_depth=8)),
    ],
)
def test_the_streams_matrix_and_range_are_used(tmp_path, height, colour, coding):
    path = tmp_path / "a.mp4"
    make_clip(path, height=height, stamps=(0, 512), colour=colour)
    assert yuv(read_all(path)[0].picture).layout.coding == coding


def test_times_of_a_variable_rate_clip(tmp_path):
    path = tmp_path / "a.mp4"
    make_clip(path, stamps=VARIABLE)
    frames = read_all(path)
    assert [frame.time for frame in frames] == [Fraction(stamp, 12800) for stamp in VARIABLE]
    assert [frame.index for frame in frames] == list(range(8))


def test_every_frame_is_shown_until_the_next(tmp_path):
    path = tmp_path / "a.mp4"
    make_clip(path, stamps=VARIABLE)
    frames = read_all(path)
    for frame, following in itertools.pairwise(frames):
        assert frame.duration == following.time - frame.time
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        assert stream.duration is not None
        assert stream.time_base is not None
        end = stream.duration * stream.time_base
    assert frames[-1].time + frames[-1].duration == end


def test_the_last_frame_of_a_trim_is_shown_until_the_one_after_it(tmp_path):
    path = tmp_path / "a.mp4"
    make_clip(path, stamps=VARIABLE)
    frames = read_all(path, end=4)
    assert len(frames) == 4
    assert frames[-1].duration == Fraction(VARIABLE[4] - VARIABLE[3], 12800)


def test_a_single_frame_has_a_length(tmp_path):
    make_clip(tmp_path / "a.mp4", stamps=(0,))
    (frame,) = read_all(tmp_path / "a.mp4")
    assert (frame.time, frame.duration) == (0, Fraction(1, 25))


def test_frames_that_an_edit_list_hides_stay_hidden(tmp_path):
    whole, path = tmp_path / "a.mp4", tmp_path / "b.mp4"
    pictures = make_clip(whole, stamps=tuple(range(0, 40 * 512, 512)), options={"qp": "0", "g": "40", "bf": "2"})
    shifted_copy(whole, path, Fraction(-3, 5))
    frames = read_all(path)
    assert len(frames) == 25
    assert [frame.time for frame in frames] == [Fraction(index, 25) for index in range(25)]
    for frame, planes in zip(frames, pictures[15:], strict=True):
        assert np.array_equal(yuv(frame.picture).planes[0], planes[0])
    third = read_frame(probe(path), 3)
    assert np.array_equal(yuv(third.picture).planes[0], pictures[18][0])


@pytest.mark.parametrize("stamps", [tuple(range(0, 40 * 512, 512)), VARIABLE])
def test_a_trimmed_read_starts_and_ends_at_the_frame(tmp_path, stamps):
    path = tmp_path / "a.mp4"
    pictures = make_clip(path, stamps=stamps, options={"qp": "0", "g": "12", "bf": "3"})
    frames = read_all(path, start=3, end=6)
    assert [frame.index for frame in frames] == [3, 4, 5]
    for frame in frames:
        assert frame.time == Fraction(stamps[frame.index], 12800)
        assert np.array_equal(yuv(frame.picture).planes[0], pictures[frame.index][0])


def test_a_single_frame_between_key_frames(tmp_path):
    path = tmp_path / "a.mkv"
    pictures = make_clip(path, stamps=tuple(range(0, 30 * 512, 512)), options={"qp": "0", "g": "10", "bf": "2"})
    info = probe(path)
    for index in (0, 1, 13, 29):
        frame = read_frame(info, index)
        assert frame.index == index
        assert np.array_equal(yuv(frame.picture).planes[0], pictures[index][0])
    with pytest.raises(MediaError, match="has 30 frames, so there is no frame 30"):
        read_frame(info, 30)


def test_writing_into_a_frame_does_not_reach_later_ones(tmp_path):
    path = tmp_path / "a.mp4"
    smooth = [np.full((64, 96), 100, np.uint8), np.full((32, 48), 90, np.uint8), np.full((32, 48), 160, np.uint8)]
    make_clip(path, pictures=[smooth] * 12, stamps=tuple(range(0, 12 * 512, 512)))
    info = probe(path)
    here = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    with VideoReader(info, threads=1) as reader:
        for frame in reader:
            before = [plane.copy() for plane in yuv(frame.picture).planes]
            assert all(np.array_equal(plane, want) for plane, want in zip(before, smooth, strict=True))
            frame.picture.paste(np.zeros((64, 96, 3), np.uint8), np.ones((64, 96), np.float32), here)
            assert yuv(frame.picture).planes[0].max() <= 17
            frame.picture.rollback()
            after = yuv(frame.picture).planes
            assert all(np.array_equal(plane, want) for plane, want in zip(after, smooth, strict=True))


@pytest.mark.parametrize(("pixel_format", "depth"), [("bgr0", 8), ("gbrp10le", 16), ("bgra", 8)])
def test_other_formats_become_bgr_and_keep_their_depth(tmp_path, pixel_format, depth):
    path = tmp_path / "a.mkv"
    with av.open(str(path), "w") as output:
        stream = output.add_stream("ffv1", rate=25)
        assert isinstance(stream, VideoStream)
        stream.width, stream.height, stream.pix_fmt = 32, 16, pixel_format
        pixels = np.random.default_rng(0).integers(0, 256, (16, 32, 3), np.uint8)
        output.mux(stream.encode(VideoFrame.from_ndarray(pixels, "bgr24").reformat(format=pixel_format)))
        output.mux(stream.encode(None))
    picture = read_all(path)[0].picture
    assert isinstance(picture, BgrPicture) and picture.bit_depth == depth
    assert np.abs(picture.to_bgr().astype(int) - pixels).max() <= 1


def test_damaged_packets_are_counted_and_passed_over(tmp_path):
    whole = tmp_path / "a.mkv"
    stamps = tuple(range(0, 40 * 512, 512))
    make_clip(whole, width=160, height=96, codec="mpeg4", options={"qscale": "2"}, stamps=stamps)
    data = bytearray(whole.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 6000] = bytes(6000)
    broken = tmp_path / "b.mkv"
    broken.write_bytes(data)
    with VideoReader(probe(broken), threads=1) as reader:
        frames = list(reader)
    assert 30 <= len(frames) <= 40
    assert frames[-1].time == Fraction(39, 25)
    assert reader.damage.notice is not None


@pytest.mark.parametrize("threads", [1, 3])
def test_lost_frames_are_counted_and_their_time_is_filled(tmp_path, threads):
    whole = make_moving(tmp_path / "a.mov", "png", count=30, pixel_format="rgb24")
    path = with_garbage(whole, tmp_path / "b.mov", (12, 13, 20))
    with VideoReader(probe(path), threads=threads) as reader:
        frames = list(reader)
    assert len(frames) == 27
    assert [frame.index for frame in frames] == list(range(27))
    assert frames[11].duration == Fraction(3, 25)
    assert frames[-1].time + frames[-1].duration == Fraction(30, 25)
    assert reader.damage == Damage(lost=3)
    assert reader.damage.notice == "3 frames could not be decoded, the ones before them are shown longer"


def test_damage_before_the_first_frame_wanted_is_not_told(tmp_path):
    whole = make_moving(tmp_path / "a.mov", "png", count=90, pixel_format="rgb24")
    path = with_garbage(whole, tmp_path / "b.mov", (12, 80))
    with VideoReader(probe(path), start=60, threads=1) as reader:
        told = {frame.time: reader.damage.lost for frame in reader}
    assert told[Fraction(79, 25)] == 0
    assert told[Fraction(81, 25)] == 1
    assert list(told) == [Fraction(index, 25) for index in range(60, 90) if index != 80]


def test_damage_is_told_with_the_frame_that_follows_it(tmp_path):
    whole = make_moving(tmp_path / "a.mov", "png", count=30, pixel_format="rgb24")
    path = with_garbage(whole, tmp_path / "b.mov", (12, 13, 20))
    with VideoReader(probe(path), threads=1) as reader:
        told = [reader.damage.lost for _ in reader]
    assert told == [0] * 12 + [2] * 6 + [3] * 9


def test_a_cut_file_is_reported(tmp_path):
    whole, cut = tmp_path / "a.mp4", tmp_path / "b.mp4"
    make_clip(tmp_path / "raw.mp4", stamps=tuple(range(0, 40 * 512, 512)))
    with (
        av.open(str(tmp_path / "raw.mp4")) as source,
        av.open(str(whole), "w", container_options={"movflags": "+faststart"}) as output,
    ):
        stream = output.add_stream_from_template(source.streams.video[0])
        for packet in source.demux(video=0):
            if packet.size:
                packet.stream = stream
                output.mux(packet)
    data = whole.read_bytes()
    cut.write_bytes(data[: len(data) * 6 // 10])
    with VideoReader(probe(cut), threads=1) as reader:
        frames = list(reader)
    assert 15 <= len(frames) <= 30
    assert reader.damage.ended_early
    assert reader.damage.reached == len(frames)
    assert reader.damage.notice is not None
    assert reader.damage.notice.endswith(
        f"the file breaks off at frame {len(frames)}, before the end that its header promises"
    )


def test_what_cannot_be_read_is_named(tmp_path):
    text = tmp_path / "a.mp4"
    text.write_text("no video at all " * 50)
    empty = tmp_path / "b.mp4"
    empty.touch()
    with pytest.raises(MediaError, match=r"a\.mp4 is no image or video that can be read"):
        probe(text)
    with pytest.raises(MediaError, match=r"b\.mp4 is empty"):
        probe(empty)
    with pytest.raises(MediaError, match=r"c\.mp4 does not exist"):
        probe(tmp_path / "c.mp4")
    with pytest.raises(MediaError, match="is a folder"):
        probe(tmp_path)
    with pytest.raises(MediaError, match="File name too long"):
        probe(tmp_path / f"{'x' * 300}.mp4")


def test_sound_alone_is_refused(tmp_path):
    make_clip(tmp_path / "a.mp4", audio=("aac",))
    with av.open(str(tmp_path / "a.mp4")) as source, av.open(str(tmp_path / "s.mp4"), "w") as output:
        stream = output.add_stream_from_template(source.streams.audio[0])
        for packet in source.demux(audio=0):
            if packet.size:
                packet.stream = stream
                output.mux(packet)
    with pytest.raises(MediaError, match=r"s\.mp4 has no video stream"):
        probe(tmp_path / "s.mp4")


def test_content_counts_not_the_extension(tmp_path):
    make_clip(tmp_path / "a.mp4")
    (tmp_path / "a.mp4").rename(tmp_path / "a.avi")
    assert probe(tmp_path / "a.avi").container.startswith("mov,mp4")
    assert len(decode(tmp_path / "a.avi")) == len(read_all(tmp_path / "a.avi")) == 8


def test_planes_match_the_decoder_with_b_frames_and_threads(tmp_path):
    path = tmp_path / "a.mp4"
    make_clip(path, width=160, height=96, stamps=tuple(range(0, 24 * 512, 512)), options={"crf": "20", "bf": "3"})
    with VideoReader(probe(path), threads=4) as reader:
        kept = list(reader)
    for frame, want in zip(kept, decode(path), strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(yuv(frame.picture).planes, planes_of(want), strict=True))


@pytest.mark.parametrize("number", range(1, 9))
def test_frames_with_side_data_that_pyav_does_not_know_come_upright(tmp_path, number):
    """JPEG frames carry EXIF, at which PyAV refuses to list any side data."""
    exif = Image.Exif()
    exif[274] = number
    exif[271] = "a camera"
    data = io.BytesIO()
    Image.new("RGB", (96, 64), "red").save(data, "JPEG", exif=exif)
    path = tmp_path / "clip.mov"
    with av.open(str(path), "w") as output:
        stream = output.add_stream("mjpeg", rate=25)
        stream.width, stream.height, stream.pix_fmt = 96, 64, "yuvj420p"
        for index in range(3):
            packet = av.Packet(data.getvalue())
            packet.stream, packet.time_base, packet.pts, packet.dts = stream, Fraction(1, 25), index, index
            output.mux(packet)
    info = probe(path)
    assert info.orientation == Orientation.from_exif(number)
    assert info.size == ((96, 64) if number < 5 else (64, 96))


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_angle_and_matrix_mean_the_same(tmp_path, rotation):
    make_clip(tmp_path / "clip.mp4", rotation=rotation, stamps=(0,))
    (frame,) = decode(tmp_path / "clip.mp4")
    assert Orientation.from_rotation(frame.rotation) == probe(tmp_path / "clip.mp4").orientation


def test_frames_that_the_decoder_gives_at_the_end_are_converted_like_all(tmp_path):
    """With several threads some come only once there are no more packets, which PyAV takes the clock from."""
    make_moving(tmp_path / "a.mov", "png", count=12, pixel_format="rgb24")
    with VideoReader(probe(tmp_path / "a.mov"), threads=3) as reader:
        times = [frame.time for frame in reader]
    assert times == [Fraction(index, 25) for index in range(12)]
