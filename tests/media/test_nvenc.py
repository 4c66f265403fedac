"""Encoding on an NVIDIA card, as far as it shows without one."""

from __future__ import annotations

from dataclasses import replace

import av
import numpy as np
import pytest
from av.container import OutputContainer

from facefusion.core.errors import OutputError, ResourceError
from facefusion.core.values import Size
from facefusion.media.encoder import EncoderSettings
from facefusion.media.encoding import Encoding
from facefusion.media.failure import explained
from facefusion.media.probe import probe
from facefusion.media.reader import VideoReader
from facefusion.media.rendering import FrameRenderer
from facefusion.vision.picture import YuvPicture
from tests.media.clips import make_clip

NVENC = [name for name in ("h264_nvenc", "hevc_nvenc", "av1_nvenc") if name in av.codecs_available]


@pytest.fixture
def info(tmp_path):
    make_clip(tmp_path / "a.mkv")
    return probe(tmp_path / "a.mkv")


@pytest.mark.parametrize("encoder", NVENC)
def test_the_card_is_told_to_the_encoder_and_is_no_part_of_the_result(tmp_path, info, encoder):
    encoding = Encoding.plan(info, info.size, EncoderSettings(encoder), tmp_path / "b.mkv")
    moved = replace(encoding, device=1)
    assert moved == encoding
    assert repr(moved) == repr(encoding)
    for wanted, given in ((None, encoding), ("1", moved)):
        with av.open(str(tmp_path / "b.mkv"), "w") as output:
            assert isinstance(output, OutputContainer)
            assert given.add_stream(output).codec_context.options.get("gpu") == wanted


def test_other_encoders_are_told_no_card(tmp_path, info):
    encoding = replace(Encoding.plan(info, info.size, EncoderSettings(), tmp_path / "b.mkv"), device=1)
    with av.open(str(tmp_path / "b.mkv"), "w") as output:
        assert "gpu" not in encoding.add_stream(output).codec_context.options


@pytest.mark.parametrize(("pixel_format", "name"), [("yuv420p", "nv12"), ("yuv420p10le", "p010le")])
def test_pictures_reach_a_semi_planar_encoder_exactly(tmp_path, pixel_format, name):
    make_clip(tmp_path / "a.mkv", codec="ffv1", width=322, height=182, pixel_format=pixel_format, stamps=(0, 512))
    clip = probe(tmp_path / "a.mkv")
    render = FrameRenderer(name, Size(322, 182), clip.colour)
    with VideoReader(clip, threads=1) as reader:
        for frame in reader:
            assert isinstance(frame.picture, YuvPicture)
            wanted = [np.array(plane) for plane in frame.picture.planes]
            given = render(frame.picture)
            assert given.format.name == name
            shift = 6 if name == "p010le" else 0
            luma, chroma = planes_of_semi(given)
            assert np.array_equal(luma >> shift, wanted[0])
            assert np.array_equal(chroma[:, 0::2] >> shift, wanted[1])
            assert np.array_equal(chroma[:, 1::2] >> shift, wanted[2])


def planes_of_semi(frame):
    dtype = np.uint8 if frame.format.name == "nv12" else np.uint16
    width = {0: frame.width, 1: 2 * ((frame.width + 1) // 2)}
    return [
        np.frombuffer(plane, dtype).reshape(plane.height, -1)[:, : width[index]]
        for index, plane in enumerate(frame.planes)
    ]


@pytest.mark.parametrize(
    "error",
    [
        av.error.ExternalError(-542398533, "Generic error in an external library"),
        av.error.MemoryError(12, "Cannot allocate memory"),
    ],
)
def test_a_card_that_begins_no_encoding_has_nothing_left(tmp_path, error):
    said = explained(error, tmp_path / "0.mkv", "hevc_nvenc")
    assert type(said) is ResourceError
    assert str(said).startswith(
        f"the graphics card begins no further encoding with hevc_nvenc ({tmp_path / '0.mkv'}: {error.strerror}). "
        "NVIDIA's drivers allow GeForce cards a few at once"
    )
    assert type(explained(error, tmp_path / "0.mkv", "libx264")) in (ResourceError, OutputError)
    assert "graphics card" not in str(explained(error, tmp_path / "0.mkv", "libx264"))
