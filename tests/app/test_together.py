"""Frames that are worked on together, in whole steps."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from facefusion.app.engine import Engine
from facefusion.app.models import Models, open_store
from facefusion.app.sessions import Sessions
from facefusion.app.step import run_step
from facefusion.core.errors import ResourceError
from facefusion.core.stop import StopToken
from facefusion.core.values import Tensor
from facefusion.inference.interruption import Interruption, RunOptions
from facefusion.inference.session import DeviceMemoryError, OrtSession, Session
from tests.app.conftest import SOURCE, TARGET, Run, put, settings
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


class Small:
    """A session on a device whose memory holds one picture at a time."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.provider = session.provider
        self.signature = session.signature

    def run(self, inputs: Mapping[str, Tensor], options: RunOptions | None = None) -> dict[str, Tensor]:
        if any(tensor.shape[0] > 1 for tensor in inputs.values() if tensor.shape[1:2] == (3,)):
            raise DeviceMemoryError("2dfan4: no memory left to run on cuda")
        return self._session.run(inputs, options)


def test_where_several_at_once_find_no_memory_the_step_is_begun_anew_with_one(
    run: Run, engine: Engine, sink: RecordingSink, tmp_path: Path, options: dict[str, object]
) -> None:
    values = {"source_paths": (SOURCE,), "target_path": TARGET, "output_path": tmp_path / "out.mp4", **options}
    snapshot = settings(engine, execution_queue_count=4, **values)
    sessions = Sessions(load=lambda request: Small(OrtSession(request)))
    try:
        report = run_step(snapshot, sessions, sink, StopToken())
    finally:
        sessions.close()
    told = (
        "The memory of the device did not suffice for --execution-queue-count 4, so the frames of all of the result "
        "are worked on one at a time."
    )
    assert told in report.notices
    assert (report.frames, report.faces, report.held_frames) == (11, 11, ())
    assert report.threads is not None
    assert report.threads.together == 1
    run(tmp_path / "alone.mp4", **options)
    assert (tmp_path / "out.mp4").read_bytes() == (tmp_path / "alone.mp4").read_bytes()


def test_one_frame_at_a_time_that_finds_no_memory_is_the_end(
    engine: Engine, sink: RecordingSink, tmp_path: Path, options: dict[str, object]
) -> None:
    class Full(Small):
        def run(self, inputs: Mapping[str, Tensor], options: RunOptions | None = None) -> dict[str, Tensor]:
            raise DeviceMemoryError("yunet: no memory left to run on cuda")

    values = {"source_paths": (SOURCE,), "target_path": TARGET, "output_path": tmp_path / "out.mp4", **options}
    sessions = Sessions(load=lambda request: Full(OrtSession(request)))
    for together in (1, 4):
        snapshot = settings(engine, execution_queue_count=together, **values)
        with pytest.raises(DeviceMemoryError, match="no memory left to run on cuda"):
            run_step(snapshot, sessions, sink, StopToken())
    sessions.close()
    assert not (tmp_path / "out.mp4").exists()


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
