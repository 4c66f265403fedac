"""Frames that are worked on together, in whole steps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from facefusion.core.errors import ResourceError
from tests.app.conftest import Run, put
from tests.toys import landmarkers

WEIGHTS = np.eye(5, dtype=np.float32)[np.arange(68) % 5]
"""Each of the 68 points on one of the five, the ends of the jaw line on the eyes."""


@pytest.fixture
def options(models: Path) -> dict[str, object]:
    """Those of steps that show the points of a landmarker which takes any number of faces at once."""
    put(models, "fan_68_5", landmarkers.estimator(WEIGHTS, batch="n"))
    put(models, "2dfan4", landmarkers.fan(batch="n"))
    return {
        "models_path": models,
        "face_landmarker_model": "2dfan4",
        "face_landmarker_score": 0.01,
        "processors": ("face_debugger",),
        "face_debugger_items": ("face-landmark-68",),
        "trim_frame_end": 11,
    }


def test_threads_do_not_show_where_frames_share_runs(run: Run, tmp_path: Path, options: dict[str, object]) -> None:
    outputs = [tmp_path / f"{threads}.mp4" for threads in (1, 3)]
    for threads, output in zip((1, 3), outputs, strict=True):
        report = run(output, execution_thread_count=threads, execution_queue_count=4, **options)
        assert (report.frames, report.faces, report.held_frames) == (11, 11, ())
        assert report.models["2dfan4"] == "cpu"
    assert outputs[0].read_bytes() == outputs[1].read_bytes()
    options["face_landmarker_score"] = 0.0
    run(tmp_path / "mesh.mp4", **options)
    assert (tmp_path / "mesh.mp4").read_bytes() != outputs[0].read_bytes()


def test_more_frames_at_once_than_fit_are_refused_with_what_to_lower(
    run: Run, tmp_path: Path, options: dict[str, object]
) -> None:
    with pytest.raises(ResourceError, match=r"lower --execution-queue-count, or choose smaller models or frames\.$"):
        run(tmp_path / "out.mp4", execution_queue_count=64, system_memory_limit=1, **options)
    assert not (tmp_path / "out.mp4").exists()
