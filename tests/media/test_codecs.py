"""What this FFmpeg can encode with; a build or a machine that lacks an encoder is refused before the work begins."""

from __future__ import annotations

import av
import pytest

from facefusion.core.errors import SetupError
from facefusion.media import codecs
from facefusion.media.codecs import check_encoder, offered_formats, usable_encoders
from facefusion.media.encoder import ENCODERS
from facefusion.media.ffmpeg_program import external_encoder_works, external_encoders
from facefusion.media.pixel_format import nearest

SOFTWARE = "libx264, libx264rgb, libx265, libvpx-vp9, libsvtav1, rawvideo"


def test_usable_encoders_are_those_of_this_build():
    assert usable_encoders()[0] == "libx264"
    assert set(usable_encoders()) <= av.codecs_available


@pytest.mark.parametrize("name", SOFTWARE.split(", "))
def test_software_encoders_pass(name):
    check_encoder(name)


def test_an_encoder_that_the_build_lacks_is_refused_with_those_it_has(monkeypatch):
    monkeypatch.setattr(codecs, "usable_encoders", lambda: tuple(SOFTWARE.split(", ")))
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SetupError) as caught:
        check_encoder("hevc_videotoolbox")
    assert str(caught.value) == (
        "the FFmpeg in use has no video encoder hevc_videotoolbox, nor has an ffmpeg on the path. "
        f"Choose another with --output-video-encoder: {SOFTWARE}."
    )


def test_an_encoder_whose_device_is_missing_is_refused(monkeypatch):
    def no_device(_context: object) -> None:
        raise av.error.ExternalError(0, "no device")

    monkeypatch.setattr(codecs, "_open", no_device)
    monkeypatch.setenv("PATH", "")
    if "h264_nvenc" not in usable_encoders():
        pytest.skip("this build of FFmpeg has no hardware encoder to try")
    with pytest.raises(SetupError, match=r"^video encoder h264_nvenc cannot be used: this machine lacks its device"):
        check_encoder("h264_nvenc")


@pytest.fixture(autouse=True)
def _forget_answers():
    for cached in (codecs._opens, external_encoders, external_encoder_works):
        cached.cache_clear()
    yield
    for cached in (codecs._opens, external_encoders, external_encoder_works):
        cached.cache_clear()


@pytest.mark.parametrize("name", sorted(set(ENCODERS) & set(av.codecs_available) - {"rawvideo"}))
def test_every_encoder_offers_a_format_for_every_target(name):
    for wanted in ("yuv420p", "yuvj420p", "yuv444p10le", "gray", "gray10le", "bgr24"):
        assert nearest(wanted, offered_formats(name)) in offered_formats(name)


def test_hardware_is_asked_for_what_it_takes_widely():
    """FFmpeg lists 10-bit and 4:2:2 H.264 for cards that refuse them."""
    if "h264_nvenc" not in usable_encoders():
        pytest.skip("this build of FFmpeg has no hardware encoder to ask")
    assert set(offered_formats("h264_nvenc")) == {"nv12", "yuv420p", "yuv444p"}
    assert set(offered_formats("hevc_nvenc")) == {"nv12", "yuv420p", "p010le", "yuv444p", "yuv444p16le"}


def test_a_format_with_alpha_is_chosen_only_by_its_name():
    assert nearest("yuv420p10le", ("yuva420p10le", "yuv420p")) == "yuv420p"
    assert nearest("yuva420p", ("yuv420p", "yuva420p")) == "yuva420p"


def test_a_format_in_memory_is_chosen_before_one_on_a_card():
    assert nearest("yuv420p", ("qsv", "nv12", "p010le")) == "nv12"
    assert nearest("yuv420p10le", ("qsv", "nv12", "p010le")) == "p010le"
    assert nearest("yuv420p", ("nv12", "yuv444p", "cuda")) == "yuv444p"
