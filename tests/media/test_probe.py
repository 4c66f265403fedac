from __future__ import annotations

import struct
from fractions import Fraction

import av
import numpy as np
import pytest
from av.video.stream import VideoStream

from facefusion.media.hdr import Chromaticity, ContentLight, HdrMetadata, MasteringDisplay, hdr_metadata
from facefusion.media.orientation import Orientation
from facefusion.media.probe import probe
from facefusion.media.reader import VideoReader
from facefusion.vision.picture import BgrPicture, YuvPicture
from tests.media.clips import TIME_BASE, decode, frame_from, make_clip, noise_planes, planes_of
from tests.media.odd_clips import alpha_ramp, make_moving, make_with_alpha

MATRICES = {
    1: (1, 0, 0, 1),
    2: (-1, 0, 0, 1),
    3: (-1, 0, 0, -1),
    4: (1, 0, 0, -1),
    5: (0, 1, 1, 0),
    6: (0, 1, -1, 0),
    7: (0, -1, -1, 0),
    8: (0, -1, 1, 0),
}
"""Display matrix (a, b, c, d) of each of EXIF's orientations; (x, y) becomes (ax + cy, bx + dy)."""


def read(path, **options):
    info = probe(path)
    with VideoReader(info, threads=1, **options) as reader:
        return info, list(reader), reader.damage


@pytest.mark.parametrize("number", sorted(MATRICES))
def test_every_display_matrix_turns_and_mirrors_as_exif_says(tmp_path, number):
    path = tmp_path / "a.mp4"
    a, b, c, d = MATRICES[number]
    planes = noise_planes("yuv420p", 96, 64, 1)
    with av.open(str(path), "w") as output:
        stream = output.add_stream("libx264", rate=25, options={"qp": "0"})
        assert isinstance(stream, VideoStream)
        stream.width, stream.height, stream.pix_fmt = 96, 64, "yuv420p"
        one = 1 << 16
        stream.set_display_matrix([a * one, b * one, 0, c * one, d * one, 0, 0, 0, 1 << 30])
        output.mux(stream.encode(frame_from(planes, "yuv420p", 96, 64)))
        output.mux(stream.encode(None))
    info, frames, _ = read(path)
    assert info.orientation == Orientation.from_exif(number)
    shown = frames[0].picture.planes[0]
    corner = {1: (0, 0), 2: (0, -1), 3: (-1, -1), 4: (-1, 0), 5: (0, 0), 6: (0, -1), 7: (-1, -1), 8: (-1, 0)}[number]
    assert np.array_equal(np.unique(shown), np.unique(planes[0]))
    assert shown[corner] == planes[0][0, 0], "where the first stored pixel is shown"
    assert shown.shape == ((64, 96) if number < 5 else (96, 64))


@pytest.mark.parametrize(
    ("name", "codec", "pixel_format", "options", "tolerance"),
    [
        ("a.mkv", "ffv1", "yuva420p", {}, 0),
        ("a.mkv", "ffv1", "yuva444p10le", {}, 0),
        ("a.webm", "libvpx-vp9", "yuva420p", {"crf": "4", "b": "0", "cpu-used": "8", "deadline": "realtime"}, 6),
        ("a.webm", "libvpx", "yuva420p", {"crf": "4", "b": "3M", "cpu-used": "8", "auto-alt-ref": "0"}, 6),
        ("a.mov", "prores_ks", "yuva444p10le", {"profile": "4444"}, 4),
    ],
)
def test_alpha_is_read_beside_the_planes(tmp_path, name, codec, pixel_format, options, tolerance):
    path = tmp_path / name
    make_with_alpha(path, codec, pixel_format, options)
    info, frames, damage = read(path)
    assert info.alpha
    assert len(frames) == 6
    assert damage.notice is None
    for frame in frames:
        assert isinstance(frame.picture, YuvPicture)
        assert len(frame.picture.planes) == 3
        assert frame.picture.alpha is not None
        depth = frame.picture.bit_depth
        found = frame.picture.alpha.astype(float) / ((1 << depth) - 1) * 255
        wanted = alpha_ramp(frame.index, 8).astype(float)
        assert np.abs(found - wanted).max() <= tolerance + 1


def test_pasting_leaves_alpha_alone_and_a_new_size_takes_it_along(tmp_path):
    path = tmp_path / "a.mkv"
    make_with_alpha(path, "ffv1", "yuva420p", {})
    _, frames, _ = read(path)
    picture = frames[3].picture
    before = picture.alpha.copy()
    here = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    picture.paste(np.zeros((48, 64, 3), np.uint8), np.ones((48, 64), np.float32), here)
    assert picture.planes[0].max() <= 17
    assert np.array_equal(picture.alpha, before)
    larger = picture.replaced_by(np.full((96, 128, 3), 200, np.uint8))
    assert larger.alpha.shape == (96, 128)
    assert np.abs(larger.alpha[::2, ::2].astype(int) - before).max() <= 3
    assert np.array_equal(picture.replaced_by(np.zeros((48, 64, 3), np.uint8)).alpha, before)


def test_alpha_turns_with_the_picture(tmp_path):
    make_with_alpha(tmp_path / "raw.mov", "prores_ks", "yuva444p10le", {"profile": "4444"}, count=1)
    path = tmp_path / "a.mov"
    with av.open(str(tmp_path / "raw.mov")) as source, av.open(str(path), "w") as output:
        stream = output.add_stream_from_template(source.streams.video[0])
        stream.set_display_rotation(90)
        for packet in source.demux(video=0):
            if packet.size:
                packet.stream = stream
                output.mux(packet)
    stored = planes_of(decode(path)[0])
    info, (turned,), _ = read(path)
    assert info.size == (48, 64)
    assert turned.picture.alpha.shape == (64, 48)
    assert np.array_equal(turned.picture.alpha, info.orientation.apply(stored[3]))
    assert np.array_equal(turned.picture.planes[0], info.orientation.apply(stored[0]))


@pytest.mark.parametrize(("codec", "pixel_format"), [("ffv1", "bgra"), ("qtrle", "argb"), ("png", "rgba64be")])
def test_rgb_with_alpha_is_bgr_with_alpha(tmp_path, codec, pixel_format):
    path = tmp_path / ("a.mkv" if codec == "ffv1" else "a.mov")
    pixels = np.random.default_rng(1).integers(0, 256, (16, 32, 4), np.uint8)
    with av.open(str(path), "w") as output:
        stream = output.add_stream(codec, rate=25)
        assert isinstance(stream, VideoStream)
        stream.width, stream.height, stream.pix_fmt = 32, 16, pixel_format
        output.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, "bgra").reformat(format=pixel_format)))
        output.mux(stream.encode(None))
    stored = decode(path)[0].to_ndarray(format="bgra" if pixel_format != "rgba64be" else "bgra64le")
    info, (frame,), _ = read(path)
    assert info.alpha
    assert isinstance(frame.picture, BgrPicture)
    assert frame.picture.bit_depth == (16 if "64" in pixel_format else 8)
    assert np.array_equal(frame.picture.pixels, stored[..., :3])
    assert frame.picture.alpha is not None
    assert np.array_equal(frame.picture.alpha, stored[..., 3])
    if frame.picture.bit_depth == 8:
        assert np.array_equal(stored, pixels)


def test_hdr_metadata_of_the_stream_is_read_exactly(tmp_path):
    path = tmp_path / "a.mp4"
    display = "G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,50)"
    parameters = f"hdr10=1:master-display={display}:max-cll=1000,400:log-level=none:pools=1"
    make_moving(path, "libx265", {"x265-params": parameters}, count=3, pixel_format="yuv420p10le")
    hdr = probe(path).hdr
    thousandth = Fraction(1, 50000)
    assert hdr == HdrMetadata(
        MasteringDisplay(
            red=Chromaticity(34000 * thousandth, 16000 * thousandth),
            green=Chromaticity(13250 * thousandth, 34500 * thousandth),
            blue=Chromaticity(7500 * thousandth, 3000 * thousandth),
            white=Chromaticity(15635 * thousandth, 16450 * thousandth),
            darkest=Fraction(50, 10000),
            brightest=Fraction(1000),
        ),
        ContentLight(1000, 400),
    )


def test_a_stream_that_says_nothing_of_hdr_has_none(tmp_path):
    make_clip(tmp_path / "a.mp4", stamps=(0, 512))
    assert probe(tmp_path / "a.mp4").hdr is None


def test_dynamic_metadata_is_named_wherever_it_first_appears():
    assert hdr_metadata([{}, {"DYNAMIC_HDR_PLUS": b""}, {"DOVI_METADATA": b"", "DOVI_RPU_BUFFER": b""}]) == HdrMetadata(
        dynamic=("Dolby Vision", "HDR10+")
    )
    assert hdr_metadata([{"SEI_UNREGISTERED": b"x"}]) is None


def test_unset_hdr_numbers_are_not_taken_for_zero():
    numbers = struct.pack("=22i", *([0, 1] * 10), 0, 1)
    assert hdr_metadata([{"MASTERING_DISPLAY_METADATA": numbers}]) is None
    assert hdr_metadata([{"CONTENT_LIGHT_LEVEL": struct.pack("=2I", 0, 0)}]) is None


def with_header(path, *, rate, stamps):
    """A Matroska clip whose header claims a rate and whose frames come when they come."""
    with av.open(str(path), "w") as output:
        stream = output.add_stream("libx264", rate=rate, options={"qp": "0", "bf": "0"})
        assert isinstance(stream, VideoStream)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        stream.codec_context.time_base = stream.time_base = TIME_BASE
        for index, stamp in enumerate(stamps):
            frame = frame_from(noise_planes("yuv420p", 64, 48, index), "yuv420p", 64, 48)
            frame.pts, frame.time_base = stamp, TIME_BASE
            output.mux(stream.encode(frame))
        output.mux(stream.encode(None))


def test_a_rate_that_no_frame_keeps_is_not_believed(tmp_path):
    path = tmp_path / "a.mkv"
    with_header(path, rate=1000, stamps=range(0, 30 * 512, 512))
    info, frames, damage = read(path)
    assert info.frame_rate == 25
    assert len(frames) == 30
    assert damage.notice is None


def test_the_mean_rate_of_a_variable_clip_is_believed(tmp_path):
    stamps = [0, 512, 1024, 1536, 6400, 12800, 19200, 25600]
    make_clip(tmp_path / "a.mp4", stamps=stamps)
    info, frames, damage = read(tmp_path / "a.mp4")
    assert info.frame_rate < 5
    assert [frame.time for frame in frames] == [Fraction(stamp, 12800) for stamp in stamps]
    assert damage.notice is None


def test_sound_that_goes_on_does_not_make_the_picture_break_off(tmp_path):
    make_clip(tmp_path / "a.mkv", stamps=range(0, 30 * 512, 512))
    path = tmp_path / "b.mkv"
    with av.open(str(tmp_path / "a.mkv")) as source, av.open(str(path), "w") as output:
        stream = output.add_stream_from_template(source.streams.video[0])
        sound = output.add_stream("pcm_s16le", rate=8000, layout="mono")
        for packet in source.demux(video=0):
            if packet.size:
                packet.stream = stream
                output.mux(packet)
        tone = av.AudioFrame.from_ndarray(np.zeros((1, 8000 * 5), np.int16), "s16", "mono")
        tone.sample_rate, tone.pts = 8000, 0
        output.mux(sound.encode(tone))
        output.mux(sound.encode(None))
    info, frames, damage = read(path)
    assert len(frames) == 30
    assert frames[-1].duration == Fraction(1, 25)
    assert damage.notice is None
    assert info.duration == Fraction(30, 25)


def test_frames_of_a_container_without_presentation_times_come_at_its_ticks(tmp_path):
    path = make_moving(tmp_path / "a.avi", options={"bf": "2", "g": "20"}, count=30)
    stamps = [frame.pts or 0 for frame in decode(path)]
    assert stamps != sorted(stamps), "what FFmpeg tells is out of order"
    info, frames, damage = read(path)
    assert info.by_order
    assert [frame.time for frame in frames] == [Fraction(index, 25) for index in range(30)]
    assert damage.notice is None
    for frame, want in zip(frames, decode(path), strict=True):
        assert np.array_equal(frame.picture.planes[0], planes_of(want)[0])
