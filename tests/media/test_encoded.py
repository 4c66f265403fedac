"""What comes back out of the encoders: pixels, tags, metadata, alpha."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from facefusion.core.values import Size
from facefusion.media.colour import ColourDescription
from facefusion.media.encoder import PRESETS, EncoderSettings
from facefusion.media.hdr import Chromaticity, ContentLight, HdrMetadata, MasteringDisplay
from facefusion.media.probe import probe
from facefusion.media.reader import VideoReader
from facefusion.media.side_data import side_data_of
from facefusion.vision.colour import Coding, Matrix
from facefusion.vision.picture import BgrPicture, Layout, YuvPicture
from tests.media.clips import decode, make_clip, planes_of
from tests.media.encoded import decoded, encode
from tests.media.rgb_clips import make_packed_clip, smooth_picture

LOSSLESS = EncoderSettings(options=(("crf", "-1"), ("qp", "0")), threads=2)
FINE = EncoderSettings(quality=97, threads=2)
HERE = np.array([[1.0, 0.0, -20.0], [0.0, 1.0, -10.0]])
MASTERING = MasteringDisplay(
    red=Chromaticity(Fraction(17, 25), Fraction(8, 25)),
    green=Chromaticity(Fraction(53, 200), Fraction(69, 100)),
    blue=Chromaticity(Fraction(3, 20), Fraction(3, 50)),
    white=Chromaticity(Fraction(3127, 10000), Fraction(329, 1000)),
    darkest=Fraction(1, 200),
    brightest=Fraction(1000),
)


@pytest.mark.parametrize(
    ("pixel_format", "colour"),
    [
        ("yuv420p", {}),
        ("yuv444p", {}),
        ("yuv422p", {}),
        ("yuv420p10le", {}),
        ("yuv422p10le", {}),
        ("yuv444p10le", {}),
        ("yuvj420p", {"color_range": 2, "colorspace": 5}),
        ("yuv420p", {"color_range": 2, "colorspace": 1}),
    ],
)
def test_pixels_outside_the_mask_reach_the_encoder_as_they_were_decoded(tmp_path, pixel_format, colour):
    pictures = make_clip(tmp_path / "a.mkv", pixel_format=pixel_format, colour=colour, options={"qp": "0", "bf": "2"})
    info = probe(tmp_path / "a.mkv")
    with VideoReader(info, threads=1) as reader:
        frames = list(reader)
    for frame in frames:
        frame.picture.paste(np.full((24, 24, 3), 255, np.uint8), np.ones((24, 24), np.float32), HERE)
    result = encode(info, tmp_path, LOSSLESS, pictures=[frame.picture for frame in frames])
    assert result.info.pixel_format == info.pixel_format
    assert result.info.colour == info.colour
    for have, stored in zip(result.frames, pictures, strict=True):
        for plane, given in zip(planes_of(have), stored, strict=True):
            step_y, step_x = 64 // plane.shape[0], 96 // plane.shape[1]
            outside = np.ones(plane.shape, bool)
            outside[9 // step_y : -(-35 // step_y), 19 // step_x : -(-45 // step_x)] = False
            assert np.array_equal(plane[outside], given[outside])
            assert not np.array_equal(plane, given)


@pytest.mark.parametrize("encoder", ["libx264", "libx265", "libvpx-vp9", "libsvtav1"])
@pytest.mark.parametrize(
    "colour",
    [
        {"colorspace": 1, "color_range": 1, "color_primaries": 1, "color_trc": 1},
        {"colorspace": 6, "color_range": 2, "color_primaries": 6, "color_trc": 6},
        {"colorspace": 9, "color_range": 1, "color_primaries": 9, "color_trc": 14},
    ],
)
def test_colour_tags_come_back(tmp_path, encoder, colour):
    make_clip(tmp_path / "a.mkv", colour=colour, stamps=(0, 512))
    result = encode(probe(tmp_path / "a.mkv"), tmp_path, replace(FINE, encoder=encoder))
    assert result.info.colour == ColourDescription(*colour.values())


@pytest.mark.parametrize("encoder", ["libx264", "libx265", "libsvtav1"])
def test_hdr10_comes_back(tmp_path, encoder):
    colour = {"colorspace": 9, "color_range": 1, "color_primaries": 9, "color_trc": 16}
    make_clip(tmp_path / "a.mkv", pixel_format="yuv420p10le", colour=colour, stamps=(0, 512))
    hdr = HdrMetadata(MASTERING, ContentLight(800, 300))
    result = encode(replace(probe(tmp_path / "a.mkv"), hdr=hdr), tmp_path, replace(FINE, encoder=encoder))
    first = result.frames[0]
    assert first.format.name == "yuv420p10le"
    data = side_data_of(first, "") or {}
    numbers = np.frombuffer(data["MASTERING_DISPLAY_METADATA"][:80], np.int32).reshape(10, 2)
    wanted = [0.68, 0.32, 0.265, 0.69, 0.15, 0.06, 0.3127, 0.329, 0.005, 1000]
    assert numbers[:, 0] / numbers[:, 1] == pytest.approx(wanted, abs=1e-4)
    assert np.frombuffer(data["CONTENT_LIGHT_LEVEL"], np.uint32).tolist() == [800, 300]
    assert result.info.colour == ColourDescription(9, 1, 9, 16)


@pytest.mark.parametrize("encoder", ["libx264", "libvpx-vp9", "libsvtav1"])
@pytest.mark.parametrize(("size", "matrix"), [((96, 64), 6), ((1280, 720), 1)])
def test_rgb_looks_the_same_as_yuv(tmp_path, encoder, size, matrix):
    pixels = smooth_picture(size[0], size[1], 3)
    make_packed_clip(tmp_path / "a.mkv", [pixels], "bgr24", "libx264rgb", {"qp": "0"})
    result = encode(probe(tmp_path / "a.mkv"), tmp_path, replace(FINE, encoder=encoder))
    assert result.info.colour == ColourDescription(matrix, 1, 1, 2)
    assert np.abs(result.bgr()[0] - pixels).mean() < 1.2


def test_rgb_is_kept_exactly_by_the_encoder_of_rgb(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (64, 96, 3), np.uint8)
    make_packed_clip(tmp_path / "a.mkv", [pixels], "bgr24", "libx264rgb", {"qp": "0"})
    result = encode(probe(tmp_path / "a.mkv"), tmp_path, replace(LOSSLESS, encoder="libx264rgb"))
    assert result.frames[0].format.name == "gbrp"
    assert np.array_equal(result.frames[0].to_ndarray(format="bgr24"), pixels)


@pytest.mark.parametrize("encoder", ["libx264rgb", "rawvideo"])
@pytest.mark.parametrize("matrix", [1, 5])
def test_yuv_looks_the_same_as_rgb(tmp_path, encoder, matrix):
    layout = Layout(Coding(Matrix.BT709 if matrix == 1 else Matrix.BT601, full_range=False, bit_depth=8))
    pixels = smooth_picture(96, 64, 3)
    planes = YuvPicture.from_bgr(pixels, layout).planes
    colour = {"colorspace": matrix, "color_range": 1}
    make_clip(tmp_path / "a.mkv", pixel_format="yuv444p", colour=colour, pictures=[planes], stamps=(0,))
    settings = EncoderSettings(encoder, 100, threads=2)
    result = encode(probe(tmp_path / "a.mkv"), tmp_path, settings, suffix=".mov")
    assert np.abs(result.frames[0].to_ndarray(format="bgr24").astype(int) - pixels).max() <= 2


ALPHA = np.tile(np.clip(np.arange(96) * 4 - 60, 0, 255).astype(np.uint8), (64, 1))


@pytest.mark.parametrize("suffix", [".webm", ".mkv"])
@pytest.mark.parametrize("size", [(96, 64), (95, 63)])
def test_alpha_comes_back_from_vp9(tmp_path, suffix, size):
    width, height = size
    pixels, alpha = smooth_picture(width, height, 3), ALPHA[:height, :width]
    make_clip(tmp_path / "a.mkv", width=width, height=height, stamps=(0, 512), codec="ffv1", options={})
    info = replace(probe(tmp_path / "a.mkv"), pixel_format="bgra", alpha=True, colour=ColourDescription())
    settings = EncoderSettings("libvpx-vp9", 95, threads=2)
    result = encode(info, tmp_path, settings, suffix=suffix, pictures=[BgrPicture(pixels, alpha)] * 2)
    frames = decoded(result.segment.path, "libvpx-vp9")
    assert [frame.format.name for frame in frames] == ["yuva420p"] * 2
    for frame in frames:
        assert np.abs(planes_of(frame)[3].astype(int) - alpha).max() <= 6
    assert np.abs(result.bgr()[0] - pixels).mean() < 1.5


def test_alpha_is_found_in_files_with_tags_in_capitals(tmp_path):
    """As FFmpeg leaves them when it copies a stream with its tags."""
    make_clip(tmp_path / "a.mkv", stamps=(0, 512))
    info = replace(probe(tmp_path / "a.mkv"), pixel_format="yuva420p", alpha=True)
    result = encode(info, tmp_path, EncoderSettings("libvpx-vp9", threads=2))
    with av.open(str(result.segment.path)) as source, av.open(str(tmp_path / "b.webm"), "w") as output:
        stream = output.add_stream_from_template(source.streams.video[0], opaque=True)
        stream.metadata["alpha_mode"] = "1"
        for packet in source.demux(video=0):
            if packet.size:
                packet.stream = stream
                output.mux(packet)
    with av.open(str(tmp_path / "b.webm")) as written:
        assert written.streams.video[0].metadata["ALPHA_MODE"] == "1"
    assert probe(tmp_path / "b.webm").alpha


def test_pictures_without_alpha_are_opaque_among_others(tmp_path):
    make_clip(tmp_path / "a.mkv", stamps=(0,))
    info = replace(probe(tmp_path / "a.mkv"), pixel_format="yuva420p", alpha=True)
    result = encode(info, tmp_path, EncoderSettings("libvpx-vp9", threads=2))
    assert planes_of(decoded(result.segment.path, "libvpx-vp9")[0])[3].min() == 255


def test_alpha_that_is_not_kept_lies_over_black(tmp_path):
    make_clip(tmp_path / "a.mkv", stamps=(0,))
    info = replace(probe(tmp_path / "a.mkv"), pixel_format="bgra", alpha=True, colour=ColourDescription())
    pixels = smooth_picture(96, 64, 3)
    result = encode(info, tmp_path, replace(FINE, quality=100), pictures=[BgrPicture(pixels, ALPHA)])
    wanted = pixels * (ALPHA[..., None] / 255)
    assert np.abs(result.bgr()[0] - wanted).mean() < 1.2
    assert np.abs(result.bgr()[0][:, :12]).max() < 2


@pytest.mark.parametrize(
    ("encoder", "sizes"),
    [
        ("libx264", [(2, 2), (66, 34)]),
        ("libx265", [(16, 16), (66, 34)]),
        ("libvpx-vp9", [(1, 1), (33, 17)]),
        ("libsvtav1", [(4, 4), (5, 7), (33, 17)]),
    ],
)
def test_sizes_that_an_encoder_is_said_to_take(tmp_path, encoder, sizes):
    for width, height in sizes:
        make_clip(tmp_path / "a.mkv", width=width, height=height, codec="libvpx-vp9", options={}, stamps=(0, 512))
        result = encode(probe(tmp_path / "a.mkv"), tmp_path, replace(FINE, encoder=encoder))
        assert result.info.size == Size(width, height)
        assert len(result.frames) == 2


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_of_av1_is_taken_and_the_best_quality_is_no_default(tmp_path, preset):
    make_clip(tmp_path / "a.mkv", stamps=(0,))
    sizes = [
        encode(probe(tmp_path / "a.mkv"), tmp_path, EncoderSettings("libsvtav1", quality, preset))
        .segment.path.stat()
        .st_size
        for quality in (100, 50)
    ]
    assert sizes[0] > 2 * sizes[1]


PROGRAM = """
import hashlib, os, sys
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, set(list(os.sched_getaffinity(0))[: int(sys.argv[3])]))
from pathlib import Path
from facefusion.media.encoder import EncoderSettings
from facefusion.media.probe import probe
from tests.media.encoded import encode
for encoder in ("libx264", "libx265", "libvpx-vp9", "libsvtav1"):
    result = encode(probe(Path(sys.argv[1])), Path(sys.argv[2]), EncoderSettings(encoder))
    print(encoder, hashlib.sha256(result.segment.path.read_bytes()).hexdigest())
"""


def test_what_encoders_make_does_not_depend_on_the_number_of_cores(tmp_path):
    pictures = [
        [smooth_picture(320, 192, 1, index)[..., 0], *(smooth_picture(160, 96, 2, index).transpose(2, 0, 1))]
        for index in range(10)
    ]
    stamps = tuple(range(0, 10 * 512, 512))
    make_clip(tmp_path / "a.mkv", width=320, height=192, pictures=pictures, stamps=stamps)
    told = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM, str(tmp_path / "a.mkv"), str(tmp_path), cores],
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for cores in ("1", "64")
    ]
    assert told[0].count("lib") == 4
    assert told[0] == told[1]


def test_an_encoders_frames_come_back_once_each(tmp_path):
    make_clip(tmp_path / "a.mkv")
    for encoder in ("libx264", "libx265", "libvpx-vp9", "libsvtav1"):
        result = encode(probe(tmp_path / "a.mkv"), tmp_path, EncoderSettings(encoder, threads=2))
        assert len(decode(result.segment.path)) == len(result.segment.stamps) == 8


def test_av1_says_nothing_on_the_terminal(tmp_path, capfd):
    make_clip(tmp_path / "a.mkv", stamps=(0,))
    encode(probe(tmp_path / "a.mkv"), tmp_path, EncoderSettings("libsvtav1", preset="ultrafast"))
    assert capfd.readouterr().err == ""
