"""The workflow options over the whole program."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from facefusion.app.engine import Engine
from facefusion.app.model_names import with_model_names
from facefusion.core.errors import UsageError
from tests.app.conftest import TARGET, Run, settings
from tests.media.clips import decode
from tests.processors.fakes import RecordingSink

FRAMES = 5


def test_both_strategies_give_the_same_bytes_and_share_segments(run: Run, tmp_path: Path) -> None:
    output, temp = tmp_path / "out.mp4", tmp_path / "temp"
    run(output, trim_frame_end=FRAMES)
    expected = output.read_bytes()
    first = run(output, temp_path=temp, workflow_strategy="disk", keep_temp=True, trim_frame_end=FRAMES)
    assert output.read_bytes() == expected
    assert (first.frames, first.resumed_frames) == (FRAMES, 0)
    [frames] = temp.glob("facefusion/*/frames")
    assert sorted(path.name for path in frames.iterdir()) == [f"{index:08d}.png" for index in range(FRAMES)]
    assert any(str(frames) in notice for notice in first.notices)
    second = run(output, temp_path=temp, trim_frame_end=FRAMES)
    assert (output.read_bytes(), second.resumed_frames) == (expected, FRAMES)
    assert frames.is_dir()


def test_a_job_that_names_the_models_goes_on_from_a_run_that_left_them_open(
    run: Run, engine: Engine, model_path: Callable[[str], Path], sink: RecordingSink, tmp_path: Path
) -> None:
    options = {"temp_path": tmp_path / "temp", "workflow_strategy": "disk", "keep_temp": True, "trim_frame_end": FRAMES}
    run(tmp_path / "out.mp4", **options)
    named = with_model_names(settings(engine, models_path=model_path("yunet").parent), sink)
    names = {spec.name: named.value(spec) for spec in named.schema if spec.name.endswith("_model")}
    assert (names["face_detector_model"], names["face_swapper_model"]) == ("yunet", "mesh")
    assert run(tmp_path / "out.mp4", **options, **names).resumed_frames == FRAMES


def test_a_change_by_hand_is_in_the_result(run: Run, tmp_path: Path) -> None:
    output, temp = tmp_path / "out.mp4", tmp_path / "temp"
    options = {
        "temp_path": temp,
        "workflow_strategy": "disk",
        "keep_temp": True,
        "temp_frame_format": "tiff",
        "trim_frame_end": FRAMES,
    }
    run(output, **options)
    [path] = temp.glob("facefusion/*/frames/00000004.tiff")
    pixels = cv2.imread(str(path))
    assert pixels is not None
    pixels[:120, :160] = (0, 0, 255)
    cv2.imwrite(str(path), pixels)
    run(output, **options)
    means = [frame.to_ndarray(format="rgb24")[10:110, 10:150].mean((0, 1)) for frame in decode(output)]
    assert [index for index, mean in enumerate(means) if np.abs(mean - (255, 0, 0)).max() < 12] == [4]


def test_an_image_has_nothing_to_keep(run: Run, tmp_path: Path) -> None:
    still = tmp_path / "still.png"
    cv2.imwrite(str(still), decode(TARGET)[0].to_ndarray(format="bgr24"))
    report = run(
        tmp_path / "out.png", target_path=still, temp_path=tmp_path / "temp", workflow_strategy="disk", keep_temp=True
    )
    assert "--keep-temp keeps nothing of an image: the result is its only frame." in report.notices
    assert not (tmp_path / "temp").exists()


def test_a_mode_that_contradicts_the_target_is_refused(run: Run, tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"target\.mp4 is a video, and --workflow-mode image-to-image takes images only"
    ):
        run(tmp_path / "out.mp4", workflow_mode="image-to-image")
