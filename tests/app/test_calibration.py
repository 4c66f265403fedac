"""Measuring the models of a step before it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from facefusion.app import calibration
from facefusion.app.engine import Engine
from facefusion.catalogue.checksums import digest_of
from facefusion.core.errors import Stopped
from facefusion.core.stop import StopToken
from facefusion.inference.bare import Division, divisions
from facefusion.inference.calibration import ThreadPlans
from facefusion.observability.events import Notice
from tests.app.conftest import Run, settings
from tests.processors.fakes import RecordingSink

MODELS = {"face_mesh", "sface", "open_nsfw"}
"""Those that say what they are fed; the detector takes pictures of any size."""


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each graph is run once by every caller, and what is found counts, whoever else uses the processor."""
    monkeypatch.setattr(calibration, "MEASURED_SECONDS", 0.0)
    monkeypatch.setattr(calibration, "usable_cores", lambda: 2)
    monkeypatch.setattr("facefusion.inference.calibration.QUIET", 0.0)


def test_models_are_measured_once(
    plans: ThreadPlans, engine: Engine, sink: RecordingSink, model_path: Callable[[str], Path]
) -> None:
    snapshot = settings(engine, models_path=model_path("yunet").parent, execution_providers=("cpu",))
    engine.calibrate(snapshot, sink, StopToken())
    (notice,) = sink.events
    assert isinstance(notice, Notice)
    assert notice.message.startswith("--auto-tune measured 3 models on 2 cores; run on several threads: ")
    digests = {digest_of(model_path(name)) for name in MODELS}
    assert {plans.of(digest) for digest in digests} <= {*divisions(2)}

    engine.calibrate(snapshot, sink, StopToken())
    assert len(sink.events) == 1


def test_a_busy_machine_is_said_to_be_one(
    plans: ThreadPlans,
    engine: Engine,
    sink: RecordingSink,
    model_path: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("facefusion.inference.calibration.QUIET", 2.0)
    snapshot = settings(engine, models_path=model_path("yunet").parent, execution_providers=("cpu",))
    engine.calibrate(snapshot, sink, StopToken())
    assert sink.events == [
        Notice(
            "--auto-tune could not tell how models use the cores best, since other programs use them too; a later run "
            "tries again."
        )
    ]
    assert plans.of(digest_of(model_path("sface"))) is None


def test_a_stop_ends_it(
    plans: ThreadPlans, engine: Engine, sink: RecordingSink, model_path: Callable[[str], Path]
) -> None:
    stop = StopToken()
    stop.request("a test")
    snapshot = settings(engine, models_path=model_path("yunet").parent, execution_providers=("cpu",))
    with pytest.raises(Stopped):
        engine.calibrate(snapshot, sink, stop)
    assert plans.of(digest_of(model_path("sface"))) is None


def test_where_a_card_runs_the_graphs_nothing_is_measured(
    plans: ThreadPlans, engine: Engine, sink: RecordingSink, model_path: Callable[[str], Path]
) -> None:
    providers = ("cuda", "cpu")
    snapshot = settings(engine, models_path=model_path("yunet").parent, execution_providers=providers)
    engine.calibrate(snapshot, sink, StopToken())
    assert sink.events == []


def test_a_run_follows_what_was_chosen_and_its_result_is_the_same(
    plans: ThreadPlans, run: Run, tmp_path: Path, model_path: Callable[[str], Path]
) -> None:
    before = run(tmp_path / "before.mp4", trim_frame_end=3)
    plans.remember(digest_of(model_path("sface")), Division(1, 2))
    after = run(tmp_path / "after.mp4", trim_frame_end=3)
    assert before.threads is not None
    assert after.threads is not None
    assert before.threads.graph_threads["sface"] == 1
    assert after.threads.graph_threads == {**before.threads.graph_threads, "sface": 2}
    assert (tmp_path / "before.mp4").read_bytes() == (tmp_path / "after.mp4").read_bytes()
