from __future__ import annotations

import os
import shutil
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from facefusion.core.errors import DiskFullError, OutputError, ResourceError
from facefusion.core.values import Size
from facefusion.media.encoder import ENCODERS, EncoderSettings, encoder_options
from facefusion.media.encoding import Encoding
from facefusion.media.frame_image import FRAME_FORMATS
from facefusion.media.space import Need, check_joined, check_space, needed_bytes

HD = Size(1280, 720)


def encoding(name="libx264", quality=80, size=HD, pixel_format="yuv420p"):
    options = tuple(encoder_options(EncoderSettings(name, quality)).items())
    made = SimpleNamespace(encoder=name, options=options, size=size, pixel_format=pixel_format, frame_rate=Fraction(25))
    return cast("Encoding", made)


@pytest.mark.parametrize(("pixel_format", "bits"), [("yuv420p", 12), ("yuv444p", 24), ("yuv420p10le", 24), ("gray", 8)])
def test_raw_video_is_exact(pixel_format, bits):
    made = encoding("rawvideo", size=Size(64, 36), pixel_format=pixel_format)
    assert needed_bytes(made, 7) == 64 * 36 * 7 * bits // 8


def measured(bits_per_pixel, frames=100):
    return bits_per_pixel * HD.width * HD.height * frames / 8


@pytest.mark.parametrize(
    ("name", "quality", "least", "most"),
    [
        ("libx264", 10, 0.0025, 0.0083),
        ("libx264", 80, 0.1187, 0.2995),
        ("libx264", 100, 0.6197, 1.9117),
        ("libx265", 10, 0.0016, 0.0049),
        ("libx265", 40, 0.0057, 0.0231),
        ("libx265", 90, 0.2819, 0.632),
        ("libvpx-vp9", 60, 0.0366, 0.0857),
        ("libvpx-vp9", 80, 0.0784, 0.2481),
        ("libsvtav1", 80, 0.0449, 0.1797),
        ("libsvtav1", 100, 0.5042, 1.4501),
    ],
)
def test_an_estimate_is_low_but_not_far_off(name, quality, least, most):
    """Against bits per pixel measured on clips of people."""
    assert measured(most) / 32 < needed_bytes(encoding(name, quality), 100) <= measured(least) * 0.26


@pytest.mark.parametrize("name", [name for name in ENCODERS if name != "rawvideo"])
def test_better_takes_more(name):
    sizes = [needed_bytes(encoding(name, quality), 100) for quality in range(0, 101, 10)]
    assert sizes == sorted(sizes)
    assert 0 < sizes[0] < sizes[-1]


def test_a_bit_rate_is_taken_at_its_word():
    assert needed_bytes(encoding("h264_videotoolbox", 100), 250) == 50512 * 1000 * 10 // 8 // 4


def test_an_encoder_that_tells_nothing_needs_nothing():
    made = encoding()
    made.options = ()
    assert needed_bytes(made, 100) == 0


@pytest.fixture
def disks(tmp_path, monkeypatch):
    """A folder for work and one for results, each with its free space, on file systems of their own."""
    work, results = tmp_path / "work", tmp_path / "results"
    work.mkdir()
    results.mkdir()
    free = {work: 1000, results: 1000}
    devices = {work: 1, results: 2}
    stat = Path.stat

    def usage(path):
        return SimpleNamespace(free=free[Path(path)])

    def faked(path, *, follow_symlinks=True):
        real = list(stat(path, follow_symlinks=follow_symlinks))
        if path in devices:
            real[2] = devices[path]
        return os.stat_result(real)

    monkeypatch.setattr(shutil, "disk_usage", usage)
    monkeypatch.setattr(Path, "stat", faked)
    return work, results, free, devices


def test_enough_is_enough(disks):
    work, results, *_ = disks
    assert check_space(work, results / "a.mp4", 100) is None


def test_either_disk_may_be_too_small(disks):
    work, results, free, _ = disks
    free[results] = 99
    with pytest.raises(ResourceError) as caught:
        check_space(work, results / "a.mp4", 100)
    assert str(caught.value) == (
        f"{results} has 99 bytes of free space, and the result will take 100 bytes at the least. Free some space, name "
        "other folders with --temp-path and --output-path, or lower --output-video-quality."
    )
    free[work] = 98
    with pytest.raises(ResourceError, match="98 bytes of free space, and the segments will take 100 bytes"):
        check_space(work, results / "a.mp4", 100)


def test_one_disk_has_to_hold_both(disks):
    work, results, free, devices = disks
    devices[results] = devices[work]
    free[work] = 199
    with pytest.raises(ResourceError, match="199 bytes of free space, and the segments and the result will take 200"):
        check_space(work, results / "a.mp4", 100)


def test_segments_that_are_there_need_no_more_space(disks):
    work, results, free, devices = disks
    (work / "segment").write_bytes(b"x" * 60)
    free[work] = 40
    assert check_space(work, results / "a.mp4", 100) is not None
    free[work] = 39
    with pytest.raises(ResourceError, match="the segments will take 40 bytes"):
        check_space(work, results / "a.mp4", 100)
    devices[results] = devices[work]
    free[work] = 139
    with pytest.raises(ResourceError, match="the segments and the result will take 140 bytes"):
        check_space(work, results / "a.mp4", 100)


def test_frames_take_space_beside_the_segments(disks):
    work, results, free, _ = disks
    free[work] = 349
    with pytest.raises(ResourceError, match="the segments and frames will take 350 bytes at the least"):
        check_space(work, results / "a.mp4", 100, Need(250, 400))
    free[work], free[results] = 1399, 1000
    warning = check_space(work, results / "a.mp4", 100, Need(250, 400))
    assert warning is not None
    assert "the segments and frames may take 1.4 kB" in warning
    free[work] = 1400
    assert check_space(work, results / "a.mp4", 100, Need(250, 400)) is None


@pytest.mark.parametrize(
    ("name", "bit_depth", "least", "most"),
    [
        ("bmp", 8, 3.0, 3.0),
        ("bmp", 10, 3.0, 3.0),
        ("png", 8, 0.55, 1.73),
        ("png", 10, 3.69, 3.69),
        ("tiff", 8, 0.58, 1.83),
        ("jpeg", 8, 0.38, 1.28),
    ],
)
def test_an_estimate_of_frames_is_low_but_not_far_off(name, bit_depth, least, most):
    """Against bytes per pixel measured on clips of people."""
    need = FRAME_FORMATS[name].need(Size(100, 10), bit_depth, 3)
    assert 3000 * least / 8 < need.least <= 3000 * least
    assert 3000 * least * 0.95 <= need.likely <= 3000 * most


def test_a_tight_disk_is_said(disks):
    work, results, free, _ = disks
    free[results] = 999
    warning = check_space(work, results / "a.mp4", 100)
    assert warning is not None
    assert warning.startswith(f"{results} has 999 bytes of free space, and the result may take 1.0 kB. Free some")


def test_a_result_that_is_written_anew_at_its_end_takes_twice_as_much(disks):
    work, results, free, _ = disks
    free[results] = 1999
    assert check_space(work, results / "a.mp4", 100, copies=1) is None
    warning = check_space(work, results / "a.mp4", 100, copies=2)
    assert warning is not None
    assert "the result may take 2.0 kB" in warning
    check_joined(results / "a.mp4", 1000, copies=1)
    with pytest.raises(DiskFullError, match=r"the result will take 2\.0 kB at the least"):
        check_joined(results / "a.mp4", 1000, copies=2)


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(OutputError, match="nowhere cannot be written: the folder is not there"):
        check_space(tmp_path, tmp_path / "nowhere" / "a.mp4", 100)
