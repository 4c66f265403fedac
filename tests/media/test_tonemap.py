"""High dynamic range brought to BT.709: the curve, the table, and frames through FFmpeg."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from av.video.frame import VideoFrame

from facefusion.media.colour import HLG, PQ, ColourDescription
from facefusion.media.hdr import Chromaticity, ContentLight, HdrMetadata, MasteringDisplay
from facefusion.media.tonemap import ToneMap, ToneMapper

GREY = Chromaticity(Fraction(1, 3), Fraction(1, 3))


def display(brightest):
    return MasteringDisplay(GREY, GREY, GREY, GREY, Fraction(0), Fraction(brightest))


@pytest.mark.parametrize("transfer", [PQ, HLG])
def test_greys_stay_grey_and_the_range_is_filled(transfer):
    tone_map = ToneMap(transfer)
    greys = np.repeat(np.linspace(0, 1, 33)[:, None], 3, axis=1)
    shown = tone_map.apply(greys)
    assert np.ptp(shown, axis=1).max() < 1e-3
    assert shown[0] == pytest.approx([0, 0, 0], abs=1e-6)
    assert shown[-1] == pytest.approx([1, 1, 1], abs=1e-3)
    assert np.all(np.diff(shown[:, 0]) >= 0)


def test_hlg_and_pq_agree_on_a_diffuse_white():
    """BT.2408 puts it at 75 % HLG and 58 % PQ."""
    hlg, pq = ToneMap(HLG).apply(np.full(3, 0.75)), ToneMap(PQ).apply(np.full(3, 0.58))
    assert hlg == pytest.approx(pq, abs=0.01)


def test_colours_beyond_bt709_keep_their_hue():
    shown = ToneMap(PQ).apply(np.array([[0.58, 0.0, 0.0], [0.0, 0.58, 0.0], [0.0, 0.0, 0.58]]))
    assert np.all((shown >= 0) & (shown <= 1))
    assert np.argmax(shown, axis=1).tolist() == [0, 1, 2]
    assert np.all(np.ptp(shown, axis=1) > 0.5)


@pytest.mark.parametrize(
    ("hdr", "peak"),
    [
        (None, 1000),
        (HdrMetadata(display(4000)), 4000),
        (HdrMetadata(display(4000), ContentLight(700, 100)), 700),
        (HdrMetadata(None, ContentLight(0, 0)), 1000),
        (HdrMetadata(display(100)), 203),
        (HdrMetadata(None, ContentLight(60_000, 0)), 10_000),
    ],
)
def test_the_peak_is_the_least_that_the_file_names(hdr, peak):
    assert ToneMap.of(ColourDescription(9, 1, 9, PQ), hdr) == ToneMap(PQ, peak)


def test_only_high_dynamic_range_is_mapped():
    assert ToneMap.of(ColourDescription(9, 1, 9, 14), HdrMetadata(display(1000))) is None
    assert ToneMap.of(ColourDescription(9, 1, 9, HLG), HdrMetadata(display(4000))) == ToneMap(HLG, 1000)


@pytest.mark.parametrize("transfer", [PQ, HLG])
def test_frames_are_mapped_as_the_rule_says(transfer):
    codes = np.linspace(0.05, 0.7, 96)
    frame = VideoFrame(96, 64, "yuv420p10le")
    for index, plane in enumerate(frame.planes):
        rows = np.frombuffer(plane, np.uint16).reshape(plane.height, -1)  # type: ignore[call-overload]
        rows[:, : plane.width] = np.rint(64 + 876 * codes) if index == 0 else 512
    frame.pts, frame.time_base = 0, Fraction(1)
    tone_map = ToneMap(transfer)
    mapped = ToneMapper(tone_map, ColourDescription(9, 1, 9, transfer), "yuv420p")(frame)
    assert mapped.format.name == "yuv420p"
    luma = np.frombuffer(mapped.planes[0], np.uint8).reshape(64, -1)[:, :96]  # type: ignore[call-overload]
    wanted = 16 + 219 * tone_map.apply(np.repeat(codes[:, None], 3, axis=1))[:, 0]
    assert np.abs(luma - wanted).max() < 2.5
    chroma = np.frombuffer(mapped.planes[1], np.uint8).reshape(32, -1)[:, :48]  # type: ignore[call-overload]
    assert np.abs(chroma.astype(int) - 128).max() <= 1


def test_colours_in_frames_are_mapped_as_the_rule_says():
    codes = np.random.default_rng(0).uniform(0.2, 0.55, (8, 12, 3))
    blocks = np.repeat(np.repeat(codes, 8, axis=0), 8, axis=1)
    frame = VideoFrame.from_ndarray(np.rint(blocks[..., ::-1] * 65535).astype(np.uint16), format="bgr48le")
    frame.pts, frame.time_base = 0, Fraction(1)
    mapped = ToneMapper(ToneMap(PQ), ColourDescription(9, 1, 9, PQ), "yuv444p")(frame)
    shown = mapped.reformat(format="rgb24", src_colorspace=1, src_color_range=1, dst_color_range=2).to_ndarray()
    wanted = 255 * ToneMap(PQ).apply(codes)
    assert np.abs(shown[4::8, 4::8] - wanted).mean() < 1.2
