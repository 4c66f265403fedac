"""What a run on the demo would have cost at least."""

from __future__ import annotations

from pathlib import Path

import pytest

from facefusion.app.calibration import usable_cores
from facefusion.app.engine import Engine
from facefusion.core.errors import Stopped, UsageError
from facefusion.core.stop import StopToken
from facefusion.inference.bare import divisions
from facefusion.inference.calibration import ThreadPlans
from tests.app.conftest import SOURCE, TARGET, Run, settings


@pytest.fixture(autouse=True)
def no_longer_than_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each graph is run once by every caller, and what is found counts, whoever else uses the processor."""
    monkeypatch.setattr("facefusion.app.floor.MEASURED_SECONDS", 0.0)
    monkeypatch.setattr("facefusion.app.floor.IN_TURN_SECONDS", 0.0)
    monkeypatch.setattr("facefusion.inference.calibration.QUIET", 0.0)


def test_every_graph_that_ran_on_a_frame_is_in_the_floor(
    run: Run, engine: Engine, tmp_path: Path, plans: ThreadPlans
) -> None:
    output = tmp_path / "out.mp4"
    report = run(output, trim_frame_end=4)
    paths = {"source_paths": (SOURCE,), "target_path": TARGET, "output_path": output}
    floor = engine.floor(settings(engine, **paths, trim_frame_end=4), report, tmp_path, StopToken())
    assert {name for name, provider in report.models.items() if provider != "code"} == set(floor.networks)
    assert {plans.of(report.model_hashes[name]) for name in floor.networks} <= {*divisions(usable_cores())}
    assert all(seconds > 0 for seconds in floor.networks.values())
    assert floor.kernels > 0
    assert floor.transcode > 0
    assert floor.seconds == pytest.approx(sum(floor.networks.values()) + floor.kernels + floor.transcode)


def test_without_a_step_there_is_no_floor(run: Run, engine: Engine, tmp_path: Path) -> None:
    report = run(tmp_path / "out.mp4", trim_frame_end=1)
    other = Engine()
    paths = {"target_path": TARGET, "output_path": tmp_path / "out.mp4"}
    with pytest.raises(UsageError, match="no step was run whose floor could be measured"):
        other.floor(settings(other, **paths), report, tmp_path, StopToken())


def test_a_stop_ends_the_measuring_of_a_floor(run: Run, engine: Engine, tmp_path: Path) -> None:
    output, stop = tmp_path / "out.mp4", StopToken()
    report = run(output, trim_frame_end=1)
    stop.request("Ctrl-C")
    paths = {"source_paths": (SOURCE,), "target_path": TARGET, "output_path": output}
    with pytest.raises(Stopped):
        engine.floor(settings(engine, **paths), report, tmp_path, stop)
    assert not (tmp_path / "floor.mkv").exists()
