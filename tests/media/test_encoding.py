"""What is settled before the first frame: pixel format, colour, size, the encoder's own parameters, what is said."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from facefusion.core.errors import OptionError, OutputError
from facefusion.core.formats import MediaKind
from facefusion.core.report import NotKept
from facefusion.core.values import Size
from facefusion.media.colour import ColourDescription
from facefusion.media.encoder import EncoderSettings
from facefusion.media.encoding import Encoding
from facefusion.media.hdr import Chromaticity, ContentLight, HdrMetadata, MasteringDisplay
from facefusion.media.orientation import Orientation
from facefusion.media.pixel_format import depth_of, has_alpha
from facefusion.media.probe import MediaInfo
from facefusion.media.tonemap import SDR, ToneMap

NOTHING_SAID = ColourDescription()
SMALL = Size(96, 64)
UPRIGHT = Orientation()
PQ = ColourDescription(9, 1, 9, 16)
MASTERING = MasteringDisplay(
    red=Chromaticity(Fraction(34000, 50000), Fraction(16000, 50000)),
    green=Chromaticity(Fraction(13250, 50000), Fraction(34500, 50000)),
    blue=Chromaticity(Fraction(7500, 50000), Fraction(3000, 50000)),
    white=Chromaticity(Fraction(15635, 50000), Fraction(16450, 50000)),
    darkest=Fraction(50, 10000),
    brightest=Fraction(1000),
)
HDR10 = HdrMetadata(MASTERING, ContentLight(900, 400))
UNPLAYABLE = (
    "The result is {} in {}, which many players and phones do not show; --output-video-pixel-format compatible writes "
    "what all do."
)
TONE_MAPPED = "HDR (PQ) of a.mkv is tone-mapped to BT.709 of standard range, since {} has too few bits for it."


def video(pixel_format="yuv420p", colour=NOTHING_SAID, *, size=SMALL, turned=UPRIGHT, hdr=None):
    return MediaInfo(
        path=Path("a.mkv"),
        kind=MediaKind.VIDEO,
        container="matroska",
        size=turned.shown_size(size),
        coded_size=size,
        orientation=turned,
        pixel_format=pixel_format,
        bit_depth=depth_of(pixel_format),
        alpha=has_alpha(pixel_format),
        colour=colour,
        hdr=hdr,
        frame_rate=Fraction(25),
        time_base=Fraction(1, 12800),
    )


def plan(info, encoder="libx264", path="b.mkv", *, wish="source", size=None, **settings):
    chosen = EncoderSettings(encoder, pixel_format=wish, **settings)
    return Encoding.plan(info, size or info.size, chosen, Path(path))


@pytest.mark.parametrize(
    ("encoder", "given", "written", "notices"),
    [
        ("libx264", "yuv420p", "yuv420p", ()),
        ("libx264", "nv12", "yuv420p", ()),
        ("libx264", "yuv422p", "yuv422p", (UNPLAYABLE.format("H.264", "yuv422p"),)),
        ("libx264", "yuv444p", "yuv444p", (UNPLAYABLE.format("H.264", "yuv444p"),)),
        ("libx264", "p010le", "yuv420p10le", (UNPLAYABLE.format("H.264", "yuv420p10le"),)),
        (
            "libx264",
            "yuv422p12le",
            "yuv422p10le",
            (
                "libx264 does not take yuv422p12le; yuv422p10le is written instead.",
                UNPLAYABLE.format("H.264", "yuv422p10le"),
            ),
        ),
        ("libx264", "gray", "gray", ()),
        ("libx265", "yuv420p10le", "yuv420p10le", ()),
        ("libx265", "yuv444p12le", "yuv444p12le", (UNPLAYABLE.format("HEVC", "yuv444p12le"),)),
        (
            "libvpx-vp9",
            "yuv420p10le",
            "yuv420p",
            ("libvpx-vp9 does not take yuv420p10le; yuv420p is written instead.",),
        ),
        ("libsvtav1", "yuv420p10le", "yuv420p10le", ()),
        ("libsvtav1", "yuv444p", "yuv420p", ("libsvtav1 does not take yuv444p; yuv420p is written instead.",)),
    ],
)
def test_depth_and_subsampling_are_kept_where_the_encoder_can(encoder, given, written, notices):
    encoding = plan(video(given), encoder)
    assert encoding.pixel_format == written
    assert encoding.notices == notices


@pytest.mark.parametrize(
    ("encoder", "given", "is_lost"),
    [
        ("libx264", "yuv422p12le", True),
        ("libvpx-vp9", "yuv420p10le", True),
        ("libsvtav1", "yuv444p", True),
        ("libsvtav1", "gray10le", False),
        ("libvpx-vp9", "gray", False),
        ("libx265", "gray12le", None),
        ("libx264", "gray12le", True),
        ("libx264", "gbrp", True),
        ("libvpx-vp9", "yuva444p12le", True),
    ],
)
def test_fewer_bits_or_samples_of_colour_are_listed_as_not_kept(encoder, given, is_lost):
    notices = [notice for notice in plan(video(given), encoder).notices if "many players" not in notice]
    assert [isinstance(notice, NotKept) for notice in notices] == ([] if is_lost is None else [is_lost])


@pytest.mark.parametrize("encoder", ["libx264", "libx265", "libvpx-vp9", "libsvtav1"])
@pytest.mark.parametrize("given", ["yuv420p", "yuv444p", "yuv420p10le", "gray", "bgr24", "yuv444p12le"])
def test_compatible_is_8_bit_420_and_needs_no_word(encoder, given):
    encoding = plan(video(given), encoder, wish="compatible")
    assert (encoding.pixel_format, encoding.notices) == ("yuv420p", ())


def test_a_format_by_its_name():
    assert plan(video(), "libx264", wish="yuv444p").pixel_format == "yuv444p"
    assert plan(video(), "libx265", wish="yuv420p10").pixel_format == "yuv420p10le"


def test_a_format_that_does_not_exist_or_is_not_taken_names_those_that_are():
    with pytest.raises(OptionError) as caught:
        plan(video(), "libsvtav1", wish="yuv999p")
    assert str(caught.value) == (
        "--output-video-pixel-format yuv999p is no pixel format of FFmpeg. "
        "Choose source, compatible or one of yuv420p, yuv420p10le."
    )
    with pytest.raises(OptionError) as caught:
        plan(video(), "libsvtav1", wish="yuv444p")
    assert str(caught.value) == (
        "libsvtav1 does not take --output-video-pixel-format yuv444p. "
        "Choose source, compatible or one of yuv420p, yuv420p10le."
    )
    with pytest.raises(OptionError, match="does not take --output-video-pixel-format gbrap"):
        plan(video(), "libvpx-vp9", wish="gbrap")


def test_turned_pictures_keep_their_turned_subsampling():
    """4:2:2 on its side is 4:4:0."""
    on_its_side = Orientation(transpose=True, mirror_x=True)
    assert plan(video("yuv422p", turned=on_its_side), "libvpx-vp9").pixel_format == "yuv440p"
    assert plan(video("yuv422p", turned=on_its_side), "libx264").pixel_format == "yuv444p"


@pytest.mark.parametrize(
    ("encoder", "path", "written", "said"),
    [
        ("libvpx-vp9", "b.webm", "yuva420p", False),
        ("libvpx-vp9", "b.mkv", "yuva420p", False),
        ("libvpx-vp9", "b.mp4", "yuv420p", True),
        ("libx264", "b.mkv", "yuv420p", True),
        ("libx265", "b.mp4", "yuv420p", True),
    ],
)
def test_alpha_is_kept_where_players_show_it_and_its_loss_is_said(encoder, path, written, said):
    encoding = plan(video("yuva420p"), encoder, path)
    notice = "The alpha channel of a.mkv is not kept: pictures are laid over black. VP9 in .webm or .mkv keeps it."
    assert encoding.pixel_format == written
    assert encoding.has_alpha == (not said)
    assert encoding.notices == ((notice,) if said else ())


def test_deep_alpha_becomes_what_players_show():
    encoding = plan(video("yuva444p12le"), "libvpx-vp9", "b.webm")
    assert encoding.pixel_format == "yuva420p"
    assert encoding.notices == (
        "a.mkv has an alpha channel, which players show in 8-bit 4:2:0 only: yuva444p12le becomes yuva420p.",
    )


@pytest.mark.parametrize(
    ("pixel_format", "colour", "size", "written"),
    [
        ("yuv420p", ColourDescription(1, 1, 1, 1), Size(96, 64), ColourDescription(1, 1, 1, 1)),
        ("yuv420p", ColourDescription(), Size(96, 64), ColourDescription()),
        ("yuv420p", ColourDescription(9, 2, 9, 14), Size(96, 64), ColourDescription(9, 2, 9, 14)),
        # What the name of the format says about the range has to be said by a tag.
        ("yuvj420p", ColourDescription(5), Size(96, 64), ColourDescription(5, 2)),
        ("gray", ColourDescription(), Size(96, 64), ColourDescription(2, 2)),
        # Enlarged over 720 lines, a missing matrix would be taken for another one.
        ("yuv420p", ColourDescription(), Size(1440, 960), ColourDescription(6)),
        ("yuv420p", ColourDescription(5), Size(1440, 960), ColourDescription(5)),
        # RGB becomes YUV of the matrix that players take for the height.
        ("bgr24", ColourDescription(0, 2), Size(96, 64), ColourDescription(6, 1, 1)),
        ("gbrp", ColourDescription(0, 2, 1, 13), Size(1280, 720), ColourDescription(1, 1, 1, 13)),
        ("bgra", ColourDescription(), Size(96, 64), ColourDescription(6, 1, 1)),
    ],
)
def test_colour_is_kept_and_said_where_the_source_did_not_have_to(pixel_format, colour, size, written):
    assert plan(video(pixel_format, colour), size=size).colour == written


def test_a_clip_turned_upright_over_720_lines_says_which_matrix_it_has():
    info = video(size=Size(854, 480), turned=Orientation(transpose=True, mirror_x=True))
    assert plan(info).colour.matrix == 6


def test_rgb_stays_rgb_for_the_encoder_of_rgb():
    encoding = plan(video("gbrp", ColourDescription(0, 2, 1, 13)), "libx264rgb")
    assert (encoding.pixel_format, encoding.colour) == ("bgr24", ColourDescription(0, 2, 1, 13))
    encoding = plan(video("yuv420p", ColourDescription(1, 1, 1, 1)), "libx264rgb")
    assert (encoding.pixel_format, encoding.colour) == ("bgr24", ColourDescription(0, 2, 1, 1))


def test_rgb_that_loses_colour_samples_is_said():
    encoding = plan(video("gbrp"))
    assert encoding.pixel_format == "yuv420p"
    assert encoding.notices == (
        "a.mkv is RGB (gbrp), of which yuv420p keeps a quarter of the colour samples; --output-video-encoder "
        "libx264rgb or --output-video-pixel-format yuv444p keep more.",
    )


@pytest.mark.parametrize(
    ("orientation", "size", "location"),
    [
        (Orientation(), Size(96, 64), None),
        (Orientation(transpose=True, mirror_x=True), Size(96, 64), "top"),
        (Orientation(transpose=True, mirror_y=True), Size(96, 64), "bottom"),
        (Orientation(mirror_y=True), Size(96, 64), None),
        # A column too far for any name; the middle is nearest.
        (Orientation(mirror_x=True), Size(96, 64), "center"),
        (Orientation(mirror_x=True), Size(95, 64), None),
    ],
)
def test_chroma_is_tagged_where_it_lies_after_turning(orientation, size, location):
    options = dict(plan(video(size=size, turned=orientation), "libvpx-vp9").options)
    assert options.get("chroma_sample_location") == location


@pytest.mark.parametrize(
    ("encoder", "option", "parameters"),
    [
        (
            "libx264",
            "x264-params",
            "mastering-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,50):cll=900,400",
        ),
        (
            "libx265",
            "x265-params",
            "master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,50):max-cll=900,400:"
            "hdr10=1:repeat-headers=1",
        ),
        (
            "libsvtav1",
            "svtav1-params",
            "mastering-display=G(0.265,0.69)B(0.15,0.06)R(0.68,0.32)WP(0.3127,0.329)L(1000,0.005):"
            "content-light=900,400",
        ),
    ],
)
def test_hdr10_reaches_the_encoder_in_its_own_words(encoder, option, parameters):
    encoding = plan(video("yuv420p10le", PQ, hdr=HDR10), encoder)
    assert dict(encoding.options)[option].endswith(parameters)
    assert encoding.colour == PQ
    assert encoding.tone_map is None


def test_parameters_of_the_user_stay_beside_hdr10s():
    info = video("yuv420p10le", PQ, hdr=HdrMetadata(light=ContentLight(900, 400)))
    encoding = plan(info, options=(("x264-params", "aq-mode=3"),))
    assert dict(encoding.options)["x264-params"] == "aq-mode=3:cll=900,400"


def test_dynamic_metadata_is_listed_as_lost():
    info = video("yuv420p10le", PQ, hdr=HdrMetadata(MASTERING, None, ("HDR10+", "Dolby Vision")))
    assert plan(info, "libx265").notices == (
        "libx265 cannot be told these data of a.mkv, so not kept: HDR10+, Dolby Vision.",
    )


def test_static_metadata_without_pq_is_listed_as_lost():
    info = video("yuv420p10le", ColourDescription(9, 1, 9, 18), hdr=HdrMetadata(MASTERING))
    encoding = plan(info, "libx265")
    assert encoding.notices == (
        "libx265 cannot be told these data of a.mkv, so not kept: HDR10's mastering display and light levels.",
    )
    assert "master-display" not in str(encoding.options)


@pytest.mark.parametrize(
    ("encoder", "wish", "written"),
    [("libvpx-vp9", "source", "yuv420p"), ("libx264", "compatible", "yuv420p"), ("libx265", "yuv444p", "yuv444p")],
)
def test_hdr_that_does_not_fit_is_tone_mapped_and_said(encoder, wish, written):
    encoding = plan(video("yuv420p10le", PQ, hdr=HDR10), encoder, wish=wish)
    assert encoding.pixel_format == written
    assert encoding.colour == SDR
    assert encoding.tone_map == ToneMap(16, 900.0)
    assert encoding.notices[-1] == TONE_MAPPED.format(written)
    assert "mastering" not in str(encoding.options)


@pytest.mark.parametrize("transfer", [1, 14, 15])
def test_deep_video_of_standard_range_only_loses_bits(transfer):
    encoding = plan(video("yuv420p10le", ColourDescription(9, 1, 9, transfer)), wish="compatible")
    assert encoding.tone_map is None
    assert encoding.colour == ColourDescription(9, 1, 9, transfer)


@pytest.mark.parametrize(
    ("encoder", "pixel_format", "size", "written"),
    [
        ("libx264", "yuv420p", Size(65, 47), Size(64, 46)),
        ("libx264", "yuv422p", Size(65, 47), Size(64, 47)),
        ("libx264", "yuv444p", Size(65, 47), Size(65, 47)),
        ("libx264", "gray", Size(65, 47), Size(65, 47)),
        ("libx265", "yuv420p", Size(65, 47), Size(64, 46)),
        ("libvpx-vp9", "yuv420p", Size(65, 47), Size(65, 47)),
        ("libvpx-vp9", "yuv420p", Size(1, 1), Size(1, 1)),
        ("libsvtav1", "yuv420p", Size(65, 47), Size(65, 47)),
    ],
)
def test_odd_sizes_are_kept_where_the_encoder_can(encoder, pixel_format, size, written):
    encoding = plan(video(pixel_format, size=size), encoder)
    assert encoding.size == written
    cut = f"{encoder} takes even sizes only: {size.width} x {size.height} is cut to {written.width} x {written.height}."
    assert (cut in encoding.notices) == (size != written)


def test_pictures_too_small_for_an_encoder():
    with pytest.raises(OutputError) as caught:
        plan(video(size=Size(64, 14)), "libx265", "b.mp4")
    assert str(caught.value) == (
        "b.mp4 cannot be 64 x 14 pixels: libx265 wants at least 16 x 16. "
        "Use a larger target or another --output-video-encoder."
    )
    with pytest.raises(OutputError, match=r"^b.mp4 cannot be 1 x 9 pixels. Use a larger target.$"):
        plan(video(size=Size(1, 9)), "libx264", "b.mp4")


@pytest.mark.parametrize(
    ("encoder", "path", "tag"),
    [
        ("libx265", "b.mp4", "hvc1"),
        ("libx265", "b.m4v", "hvc1"),
        ("libx265", "b.mov", "hvc1"),
        ("libx265", "b.mkv", None),
        ("libx264", "b.mp4", None),
        ("libsvtav1", "b.mp4", None),
        ("rawvideo", "b.avi", "I420"),
    ],
)
def test_tags_that_players_ask_for(encoder, path, tag):
    assert plan(video(), encoder, path).codec_tag == tag


@pytest.mark.parametrize(
    ("encoder", "path", "used"),
    [("libsvtav1", "b.webm", "libsvtav1"), ("libsvtav1", "b.mov", "libx264"), ("libx265", "b.avi", "libx264")],
)
def test_an_encoder_that_the_container_cannot_hold_is_replaced_and_that_said(encoder, path, used):
    encoding = plan(video(), encoder, path)
    said = f"{Path(path).suffix} cannot hold {encoder}; {used} is used instead."
    assert (encoding.encoder, said in encoding.notices) == (used, used != encoder)


@pytest.mark.parametrize(
    ("encoder", "settings", "size", "threads"),
    [
        ("libx264", {}, SMALL, 3),
        ("libx264", {}, Size(1920, 1088), 3),
        ("libx264", {}, Size(1922, 1088), 6),
        ("libx264", {"preset": "ultrafast"}, SMALL, 3),
        ("libx264", {"preset": "faster"}, SMALL, 8),
        ("libx265", {}, SMALL, 8),
        ("libx264", {"threads": 2}, SMALL, 2),
    ],
)
def test_threads_follow_from_settings_and_size_alone(
    monkeypatch: pytest.MonkeyPatch, encoder: str, settings: dict[str, object], size: Size, threads: int
) -> None:
    for cores in (1, 64):
        monkeypatch.setattr("os.cpu_count", lambda cores=cores: cores)
        assert plan(video(size=size), encoder, **settings).threads == threads
