"""What this FFmpeg can encode with; a build or a machine that lacks an encoder is refused before the work begins."""

from __future__ import annotations

import av
import pytest
from av.video.codeccontext import VideoCodecContext

from facefusion.core.errors import ResourceError, SetupError
from facefusion.media import codecs
from facefusion.media.codecs import card_options, check_encoder, encoder_obstacle, offered_formats, usable_encoders
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
    with pytest.raises(SetupError) as caught:
        check_encoder("h264_nvenc")
    assert str(caught.value) == (
        "video encoder h264_nvenc cannot be used: this machine lacks its device or driver, or they refuse (no device). "
        f"Choose another with --output-video-encoder: {SOFTWARE}."
    )


class Card:
    """In place of opening an encoder: says what FFmpeg says, and fails as it does."""

    def __init__(self, *said: str, error: Exception | None = None) -> None:
        self.said = said
        self.error = error
        self.asked: list[dict[str, str]] = []

    def __call__(self, context: VideoCodecContext) -> None:
        self.asked.append(dict(context.options))
        for line in self.said:
            av.logging.log(av.logging.ERROR, context.name, f"{line}\n")
        if self.error is not None:
            raise self.error


GENERIC = av.error.ExternalError(-542398533, "Generic error in an external library")
FULL = "OpenEncodeSessionEx failed: out of memory (10): (no details)"


@pytest.fixture
def card(monkeypatch):
    if "h264_nvenc" not in usable_encoders():
        pytest.skip("this build of FFmpeg has no hardware encoder to try")
    monkeypatch.setenv("PATH", "")
    made = Card()
    monkeypatch.setattr(codecs, "_open", made)
    return made


def test_the_first_thing_that_ffmpeg_said_is_the_reason(card):
    card.said = ("Driver does not support the required nvenc API version. Required: 13.0 Found: 12.1", "More")
    card.error = av.error.PermissionError(1, "Operation not permitted")
    assert encoder_obstacle("hevc_nvenc", 1) == (
        "this machine lacks its device or driver, or they refuse (Driver does not support the required nvenc API "
        "version. Required: 13.0 Found: 12.1)"
    )
    with pytest.raises(SetupError, match=r"^video encoder hevc_nvenc cannot be used on card 1: this machine lacks"):
        check_encoder("hevc_nvenc", 1)
    assert av.logging.get_level() is None


def test_a_card_that_begins_no_further_session_is_full_and_not_useless(card):
    card.said, card.error = (FULL, "No capable devices found"), GENERIC
    with pytest.raises(ResourceError) as caught:
        check_encoder("h264_nvenc", 0)
    assert str(caught.value) == (
        f"the graphics card begins no further encoding with h264_nvenc ({FULL}). NVIDIA's drivers allow GeForce cards "
        "a few at once, by all programs together: end others that encode or record, or free video memory; or choose "
        "another --output-video-encoder."
    )
    card.said, card.error = (), None
    check_encoder("h264_nvenc", 0)


def test_the_card_that_is_meant_is_tried_once(card):
    for device in (0, 1, None, 1):
        check_encoder("h264_nvenc", device)
    assert card.asked == [{"gpu": "0"}, {"gpu": "1"}, {}]


def test_what_a_card_does_is_told_to_encoders_of_nvidia_alone():
    assert card_options("av1_nvenc", 3) == {"gpu": "3"}
    assert card_options("hevc_nvenc", None) == card_options("libx264", 3) == card_options("hevc_amf", 3) == {}


@pytest.fixture(autouse=True)
def _forget_answers():
    for cached in (codecs._try_out, external_encoders, external_encoder_works):
        cached.cache_clear()
    yield
    for cached in (codecs._try_out, external_encoders, external_encoder_works):
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
    assert set(offered_formats("av1_nvenc")) == {"nv12", "yuv420p", "p010le"}
    assert set(offered_formats("hevc_nvenc")) == {"nv12", "yuv420p", "p010le", "yuv444p", "yuv444p16le"}


def test_a_format_with_alpha_is_chosen_only_by_its_name():
    assert nearest("yuv420p10le", ("yuva420p10le", "yuv420p")) == "yuv420p"
    assert nearest("yuva420p", ("yuv420p", "yuva420p")) == "yuva420p"


def test_a_format_in_memory_is_chosen_before_one_on_a_card():
    assert nearest("yuv420p", ("qsv", "nv12", "p010le")) == "nv12"
    assert nearest("yuv420p10le", ("qsv", "nv12", "p010le")) == "p010le"
    assert nearest("yuv420p", ("nv12", "yuv444p", "cuda")) == "nv12"


@pytest.mark.parametrize(
    ("encoder", "given", "written"),
    [
        ("h264_nvenc", "yuv420p", "yuv420p"),
        ("h264_nvenc", "yuv420p10le", "yuv420p"),
        ("hevc_nvenc", "yuv420p", "yuv420p"),
        ("hevc_nvenc", "yuv420p10le", "p010le"),
        ("hevc_nvenc", "yuv444p10le", "yuv444p16le"),
        ("hevc_nvenc", "gray", "yuv420p"),
        ("av1_nvenc", "yuv420p10le", "p010le"),
        ("av1_nvenc", "yuv444p", "yuv420p"),
        ("hevc_amf", "yuv420p10le", "p010le"),
    ],
)
def test_hardware_gets_the_depth_of_the_source(encoder, given, written):
    if encoder not in usable_encoders():
        pytest.skip(f"this build of FFmpeg has no {encoder} to ask")
    assert nearest(given, offered_formats(encoder)) == written
