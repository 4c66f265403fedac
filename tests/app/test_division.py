"""A whole step, divided, rendered by several processes and joined."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import av
import pytest

from facefusion.app import video
from facefusion.app.engine import Engine
from facefusion.app.step_plan import StepPlan
from facefusion.core.errors import DiskFullError, OtherMachineError, SegmentError, SetupError, UsageError
from facefusion.core.stop import StopToken
from facefusion.provenance.manifests import Verdict, stores_of
from tests.app.conftest import SOURCE, TARGET, settings
from tests.app.rendered_apart import TOKEN
from tests.processors.fakes import RecordingSink

REPOSITORY = Path(__file__).parents[2]
LENGTH = 14
FRAMES = 34


@pytest.fixture(autouse=True)
def short_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(video, "segment_frames", lambda _, __: LENGTH)


@pytest.fixture
def values(tmp_path: Path, model_path: Callable[[str], Path]) -> dict[str, Any]:
    """Of a step over the demo's first frames."""
    return {
        "source_paths": (SOURCE,),
        "target_path": TARGET,
        "output_path": tmp_path / "out.mp4",
        "models_path": model_path("yunet").parent,
        "trim_frame_end": FRAMES,
    }


def planned(engine: Engine, values: Mapping[str, Any]) -> StepPlan:
    """The plan, as it comes out of JSON."""
    plan = engine.plan(settings(engine, **values), RecordingSink(), StopToken())
    again = StepPlan.from_json(json.loads(json.dumps(plan.to_json())))
    assert (again, again.digest) == (plan, plan.digest)
    return again


def test_segments_of_two_processes_join_to_the_file_that_one_run_makes(
    engine: Engine, values: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot, sink, stop = settings(engine, **values), RecordingSink(), StopToken()
    whole = engine.execute(snapshot, sink, stop)
    expected = values["output_path"].read_bytes()
    values["output_path"].unlink()

    plan = planned(engine, values)
    assert plan.segments == (14, 14, 6)
    folder = tmp_path / "shared"
    folder.mkdir()
    copy = shutil.copyfile(TARGET, tmp_path / "copy.mp4")  # of another date and name
    there = {**values, "target_path": copy, "output_path": tmp_path / "other.mp4"}
    step = {"plan": plan.to_json(), "values": there}
    (folder / "step.json").write_text(json.dumps(step, default=str))
    command = [sys.executable, "-m", "tests.app.rendered_apart", str(folder), str(LENGTH), "2", "0"]
    subprocess.run(command, cwd=REPOSITORY, check=True)
    here = engine.render(snapshot, plan, 1, folder, "b2", sink, stop)
    records = [here, here, here]
    for number in (0, 2):
        records[number] = json.loads((folder / f"segment-00000{number}-{TOKEN}.json").read_text())

    taken = sum(path.stat().st_size for path in folder.glob("*.mkv"))
    with monkeypatch.context() as full:
        full.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=taken - 1))
        with pytest.raises(DiskFullError, match=rf"^{tmp_path} has .* and the result will take .* at the least"):
            engine.join(snapshot, plan, folder, records, sink, stop)
    report = engine.join(snapshot, plan, folder, records, sink, stop)

    assert values["output_path"].read_bytes() == expected
    assert (report.frames, report.faces, report.held_frames) == (whole.frames, whole.faces, ())
    assert (report.models, report.model_hashes) == (whole.models, whole.model_hashes)
    assert set(whole.stages) <= set(report.stages)
    assert report.stages["face_swapper"] > 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.mp4", "out.mp4", "shared"]


def test_another_program_or_machine_is_refused_and_told_what_differs(
    engine: Engine, values: dict[str, Any], tmp_path: Path
) -> None:
    snapshot, sink, stop = settings(engine, **values), RecordingSink(), StopToken()
    plan = planned(engine, values)
    old = replace(plan, fingerprint={**plan.fingerprint, "numpy": "0.9", "program": "0.0.1 " + 40 * "0"})
    with pytest.raises(OtherMachineError) as refused:
        engine.render(snapshot, old, 0, tmp_path, TOKEN, sink, stop)
    assert "this differs from the plan: program, numpy (0.9 -> " in refused.value.fault
    other = settings(engine, **{**values, "output_video_quality": 30})
    with pytest.raises(OtherMachineError, match=r"setting output_video_quality \(\d+ -> 30\)"):
        engine.render(other, plan, 0, tmp_path, TOKEN, sink, stop)
    assert list(tmp_path.iterdir()) == []


def test_a_segment_that_is_missing_or_of_another_plan_is_told(
    engine: Engine, values: dict[str, Any], tmp_path: Path
) -> None:
    snapshot, sink, stop = settings(engine, **values), RecordingSink(), StopToken()
    plan = planned(engine, values)
    folder = tmp_path / "shared"
    folder.mkdir()
    last = engine.render(snapshot, plan, 2, folder, TOKEN, sink, stop)
    for records, number, said in (
        ([], 0, "segment 0 is missing"),
        ([last, last], 2, "segment 2 is missing"),
        ([{**last, "number": 0, "plan": "0" * 64}, last, last], 0, "segment 0 was rendered for another plan"),
        ([last, last, last], 0, "what is given for segment 0 is no record of it"),
    ):
        with pytest.raises(SegmentError, match=said) as told:
            engine.join(snapshot, plan, folder, records, sink, stop)
        assert told.value.number == number
    with pytest.raises(UsageError, match=r"no segment 3\. Choose one from 0 to 2\."):
        engine.render(snapshot, plan, 3, folder, TOKEN, sink, stop)
    assert not values["output_path"].exists()


def test_what_is_not_divided_is_executed(engine: Engine, values: dict[str, Any], tmp_path: Path) -> None:
    image = planned(engine, {**values, "target_path": SOURCE, "output_path": tmp_path / "out.png"})
    assert (image.is_divided, image.segments) == (False, (1,))
    short = planned(engine, {**values, "trim_frame_end": LENGTH})
    assert (short.is_divided, short.segments, short.outline) == (False, (LENGTH,), None)
    files = planned(engine, {**values, "workflow_strategy": "disk"})
    assert (files.is_divided, files.segments) == (False, (FRAMES,))
    with pytest.raises(UsageError, match=r"Execute it in one go\.$"):
        engine.render(settings(engine, **values), short, 0, tmp_path, TOKEN, RecordingSink(), StopToken())


def test_machines_are_of_one_breed_as_long_as_nothing_differs_but_the_step(
    engine: Engine, values: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    breed = engine.breed(settings(engine, **values), RecordingSink())
    assert re.fullmatch("[0-9a-f]{12}", breed)
    assert engine.breed(settings(engine, output_video_quality=30), RecordingSink()) == breed
    monkeypatch.setattr("facefusion.app.fingerprint.__version__", "0.0.1")
    assert engine.breed(settings(engine, **values), RecordingSink()) != breed


def test_who_joins_signs_and_who_renders_need_not_be_able_to(
    engine: Engine, values: dict[str, Any], tmp_path: Path
) -> None:
    trust, folder = tmp_path / "trust", tmp_path / "shared"
    trust.write_text("no folder")
    folder.mkdir()
    sink, stop = RecordingSink(), StopToken()
    plain = settings(engine, **values)
    engine.execute(plain, sink, stop)
    with av.open(str(values["output_path"])) as container:
        expected = [frame.to_ndarray().tobytes() for frame in container.decode(video=0)]

    values |= {"marking": "full", "trust_path": trust, "output_path": tmp_path / "signed.mp4"}
    plan, snapshot = planned(engine, values), settings(engine, **values)
    records = [engine.render(snapshot, plan, number, folder, TOKEN, sink, stop) for number in range(3)]
    with pytest.raises(SetupError, match="no local certificate can be made"):
        engine.join(snapshot, plan, folder, records, sink, stop)
    trust.unlink()
    report = engine.join(snapshot, plan, folder, records, sink, stop)
    with av.open(str(values["output_path"])) as container:
        assert [frame.to_ndarray().tobytes() for frame in container.decode(video=0)] == expected
    (store,) = stores_of(values["output_path"])
    assert store.verdict is Verdict.UNKNOWN_SIGNER
    assert report.marking is not None
    assert report.marking.signed_by is not None
