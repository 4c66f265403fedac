"""The size of results: what the options say, and what a video and its pixels become."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from facefusion.config.origin import COMMAND_LINE
from facefusion.config.schema import Schema
from facefusion.config.values import RawValue, parse
from facefusion.core.errors import OptionError, UsageError
from facefusion.core.formats import MediaKind
from facefusion.core.values import Size
from facefusion.media.encoder import EncoderSettings
from facefusion.media.encoding import Encoding
from facefusion.media.orientation import Orientation
from facefusion.media.output_size import OutputSize
from facefusion.media.probe import MediaInfo, probe
from facefusion.media.settings import OutputSettings
from tests.media.clips import make_clip

CLIP, PHOTO = Path("a.mp4"), Path("a.png")


def info(width: int, height: int, *, turned: bool = False, aspect: Fraction = Fraction(1)) -> MediaInfo:
    size = Size(width, height)
    return MediaInfo(
        path=CLIP,
        kind=MediaKind.VIDEO,
        container="mp4",
        size=size,
        coded_size=Size(height, width) if turned else size,
        orientation=Orientation(transpose=turned),
        pixel_format="yuv420p",
        bit_depth=8,
        sample_aspect=aspect,
    )


@pytest.mark.parametrize(
    ("scale", "size", "expected"),
    [
        (0.5, (1920, 1080), (960, 540)),
        (0.25, (426, 240), (106, 60)),  # 106.5 is cut, not rounded
        (0.33, (641, 361), (212, 120)),  # 211 and 119: what lies between two even numbers goes to the multiple of 4
        (1.5, (854, 480), (1280, 720)),  # 1281 likewise
        (0.29, (100, 100), (28, 28)),  # 29, though 100 times the next binary fraction is less
        (8.0, (16, 10), (128, 80)),
        (0.25, (5, 3), (2, 2)),
    ],
)
def test_a_video_is_scaled_to_even_sizes_as_in_facefusion(scale, size, expected):
    assert OutputSettings(output_video_scale=scale).size_of(CLIP).of(info(*size)) == expected


@given(st.floats(0.25, 8), st.integers(2, 8000), st.integers(2, 8000))
@example(0.3333333333333333, 2, 306)
def test_any_factor_gives_even_sides_of_about_that_size(scale, width, height):
    size = OutputSettings(output_video_scale=scale).size_of(CLIP).of(info(width, height))
    if scale == 1:
        assert size == (width, height)
        return
    assert size is not None
    for side, old in zip(size, (width, height), strict=True):
        assert side % 2 == 0
        assert side >= 2
        # Exactly: a float's product may round up to the whole number that the factor just misses.
        assert -2 < side - old * Fraction(str(scale)) <= 1 or side == 2


@pytest.mark.parametrize(
    ("scale", "size", "expected"), [(0.5, (101, 77), (50, 38)), (1.5, (7, 5), (10, 7)), (0.25, (3, 1), (1, 1))]
)
def test_an_image_may_have_any_size(scale, size, expected):
    settings = OutputSettings(output_image_scale=scale)
    assert settings.size_of(PHOTO).of(info(*size)) == expected
    assert settings.size_of(Path("a.gif")).of(info(*size)) == expected
    assert settings.size_of(CLIP).of(info(*size)) is None


def test_a_factor_of_one_is_the_targets_size_however_odd():
    assert OutputSettings(output_video_scale=1.0).size_of(CLIP).of(info(641, 361)) == (641, 361)


def test_nothing_asked_leaves_the_size_to_the_processors():
    assert OutputSettings().size_of(CLIP) == OutputSize(multiple=2)
    assert OutputSettings().size_of(CLIP).of(info(640, 360)) is None


def test_a_resolution_is_exact():
    settings = OutputSettings(output_video_resolution="1281X721", output_image_resolution="5x7")
    assert settings.size_of(CLIP).of(info(640, 360)) == (1281, 721)
    assert settings.size_of(PHOTO).of(info(640, 360)) == (5, 7)


def test_a_turned_video_may_be_told_by_its_size_as_stored():
    stored = OutputSettings(output_video_resolution="1920x1080").size_of(CLIP)
    assert stored.of(info(1080, 1920, turned=True)) == (1080, 1920)
    assert stored.of(info(1080, 1920)) == (1920, 1080)
    other = OutputSettings(output_video_resolution="1280x720").size_of(CLIP)
    assert other.of(info(1080, 1920, turned=True)) == (1280, 720)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (OutputSettings(), Fraction(64, 45)),
        (OutputSettings(output_video_scale=0.5), Fraction(64, 45)),
        (OutputSettings(output_video_resolution="360x288"), Fraction(64, 45)),
        (OutputSettings(output_video_resolution="1024x576"), Fraction(1)),
    ],
)
def test_pixels_keep_their_shape_unless_a_resolution_gives_them_another(settings, expected):
    anamorphic = info(720, 576, aspect=Fraction(64, 45))
    assert settings.size_of(CLIP).sample_aspect(anamorphic) == expected


@pytest.mark.parametrize(
    ("kind", "output", "settings"),
    [
        ("video", CLIP, OutputSettings(output_video_scale=0.5, output_video_resolution="640x360")),
        ("image", PHOTO, OutputSettings(output_image_scale=0.5, output_image_resolution="640x360")),
    ],
)
def test_a_factor_and_a_resolution_contradict_each_other(kind, output, settings):
    with pytest.raises(UsageError) as caught:
        settings.size_of(output)
    assert str(caught.value) == (
        f"--output-{kind}-scale 0.5 and --output-{kind}-resolution 640x360 both say how large {output} is to be. "
        "Give one of them."
    )


@pytest.mark.parametrize("word", ["640", "640x", "x360", "0x360", "-640x360", "640x360x2", "640 x 360", "123456x1"])
def test_what_is_no_resolution_is_refused(word):
    spec = Schema.of((OutputSettings,))["output_video_resolution"]
    label = f"--output-video-resolution {word}"
    with pytest.raises(OptionError, match="must be written as WIDTHxHEIGHT") as caught:
        parse(spec, RawValue((word,), label, COMMAND_LINE))
    assert label in str(caught.value)


@pytest.mark.parametrize(("word", "value"), [("0.25", 0.25), ("0.33", 0.33), ("8", 8.0)])
@pytest.mark.parametrize("name", ["output_video_scale", "output_image_scale"])
def test_any_factor_of_the_range_is_taken(name, word, value):
    spec = Schema.of((OutputSettings,))[name]
    assert parse(spec, RawValue((word,), name, COMMAND_LINE)) == value
    for outside in ("0.24", "8.01"):
        with pytest.raises(OptionError, match=r"must be between 0\.25 and 8"):
            parse(spec, RawValue((outside,), name, COMMAND_LINE))


def test_a_video_is_tagged_for_its_new_height(tmp_path):
    """A stream of 576 lines that names no matrix is BT.601; one of 1152 would be taken for BT.709."""
    make_clip(tmp_path / "a.mkv", width=64, height=576, stamps=(0, 512), codec="ffv1", options={})
    source = probe(tmp_path / "a.mkv")
    assert source.colour.matrix == 2
    settings = EncoderSettings("libx264")
    assert Encoding.plan(source, source.size, settings, tmp_path / "b.mkv").colour.matrix == 2
    assert Encoding.plan(source, Size(128, 1152), settings, tmp_path / "b.mkv").colour.matrix == 6
    square = replace(source, sample_aspect=Fraction(1))
    assert Encoding.plan(square, Size(128, 1152), settings, tmp_path / "b.mkv").size == (128, 1152)
