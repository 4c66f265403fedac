"""Frames that are worked on together, in whole steps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from facefusion.app.engine import Engine
from facefusion.app.models import Models, open_store
from facefusion.app.sessions import Sessions
from facefusion.core.errors import ResourceError
from facefusion.core.stop import StopToken
from facefusion.inference.interruption import Interruption
from tests.app.conftest import Run, put, settings
from tests.processors.fakes import RecordingSink
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


@pytest.mark.parametrize(("batch", "pictures"), [(1, 1), ("n", 4)])
def test_a_worker_is_counted_on_for_as_many_pictures_as_a_graph_takes(
    options: dict[str, object], models: Path, engine: Engine, batch: int | str, pictures: int
) -> None:
    put(models, "2dfan4", landmarkers.fan(batch=batch))
    snapshot, events, stop = settings(engine, models_path=models), RecordingSink(), StopToken()
    chosen = Models(open_store(snapshot, events, stop), {"face_landmarker": "2dfan4"}, events, 1)
    card, sessions = chosen.cards["face_landmarker"], Sessions()
    _, pool = sessions.open(snapshot, events)
    with pool, Interruption(stop) as interruption:
        assert chosen.runners(pool, interruption)(card).signature.takes_several == (pictures > 1)
    alone = card.number("worker_megabytes")
    assert [chosen.worker_megabytes(together) for together in (1, 6)] == [alone, alone * pictures]
