"""The size of results, over the whole program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from facefusion.core.errors import UsageError
from facefusion.core.values import Size
from facefusion.media.probe import probe
from tests.app.conftest import TARGET, Run
from tests.media.clips import decode, times_of

TARGET_SIZE = probe(TARGET).size
HALF = Size(*(side // 2 for side in TARGET_SIZE))
FEW: dict[str, Any] = {"trim_frame_end": 2, "processors": ("face_debugger",)}


def picture(path: Path, index: int = 0) -> np.ndarray:
    return decode(path)[index].to_ndarray(format="bgr24").astype(float)


def test_a_result_is_the_usual_one_made_smaller(run: Run, tmp_path: Path) -> None:
    usual, half = tmp_path / "usual.mp4", tmp_path / "half.mp4"
    options = FEW | {"output_video_quality": 95}
    run(usual, **options)
    report = run(half, output_video_scale=0.5, **options)
    assert (probe(half).size, report.frames) == (HALF, 2)
    assert times_of(half) == times_of(usual)
    expected = cv2.resize(picture(usual, 1), HALF, interpolation=cv2.INTER_AREA)
    assert np.abs(picture(half, 1) - expected).mean() < 1.5
    assert "scale" in report.stages


def test_frames_as_files_have_the_size_of_the_result(run: Run, tmp_path: Path) -> None:
    temp = tmp_path / "temp"
    options = FEW | {"temp_path": temp, "workflow_strategy": "disk", "keep_temp": True}
    run(tmp_path / "out.mp4", output_video_resolution="200x120", **options)
    [first] = temp.glob("facefusion/*/frames/00000000.png")
    frame = cv2.imread(str(first))
    assert frame is not None
    assert frame.shape == (120, 200, 3)
    assert probe(tmp_path / "out.mp4").size == (200, 120)


def test_a_factor_of_one_changes_no_byte(run: Run, tmp_path: Path) -> None:
    usual, same = tmp_path / "usual.mp4", tmp_path / "same.mp4"
    run(usual, **FEW)
    report = run(same, output_video_scale=1.0, **FEW)
    assert same.read_bytes() == usual.read_bytes()
    assert "scale" not in report.stages


def test_an_image_has_the_size_of_images(run: Run, tmp_path: Path) -> None:
    still = tmp_path / "still.png"
    cv2.imwrite(str(still), picture(TARGET))
    run(tmp_path / "out.png", target_path=still, output_image_scale=0.5, output_video_scale=2.0, **FEW)
    assert probe(tmp_path / "out.png").size == HALF


def test_an_animated_image_has_the_size_of_images(run: Run, tmp_path: Path) -> None:
    run(tmp_path / "out.gif", output_image_scale=0.5, output_video_scale=2.0, **FEW)
    assert probe(tmp_path / "out.gif").size == HALF


def test_a_contradiction_is_refused_before_anything_is_done(run: Run, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--output-video-scale 2 and --output-video-resolution 640x360 both say"):
        run(tmp_path / "out.mp4", output_video_scale=2.0, output_video_resolution="640x360")
    assert not list(tmp_path.iterdir())
