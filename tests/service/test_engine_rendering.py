"""The engine as workers use it: what of a job is the worker's, and what the job's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from facefusion.app.step_plan import StepPlan
from facefusion.cli.application import load_application
from facefusion.cli.main import program_schema
from facefusion.config.state import Snapshot
from facefusion.core.errors import SigningError
from facefusion.core.stop import StopToken
from facefusion.inference.settings import ExecutionSettings
from facefusion.observability.events import Fanout
from facefusion.service.endings import fault_of
from facefusion.service.engine_rendering import EngineRenderer
from facefusion.service.rendering import JobFiles
from tests.cli.fakes import REPORT
from tests.service.jobs import job

pytestmark = pytest.mark.service

TOLD = (
    "The memory of the device did not suffice for --execution-queue-count 4, so the frames of all of the result are "
    "worked on one at a time."
)


class Engine:
    """Notes with which settings it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []
        self.divided = True

    def _note(self, what: str, snapshot: Snapshot) -> None:
        self.asked.append((what, snapshot.get(ExecutionSettings).execution_queue_count))

    def plan(self, snapshot, *_):
        self._note("plan", snapshot)
        return StepPlan((5, 5), {"numpy": "2"}, {"checkpoints": []} if self.divided else None)

    def render(self, snapshot, plan, number, *_):
        self._note(f"render {number}", snapshot)
        return {"number": number}

    def join(self, snapshot, *_):
        self._note("join", snapshot)
        return replace(REPORT, notices=("The sound was copied.",))

    def execute(self, snapshot, *_):
        self._note("execute", snapshot)
        return replace(REPORT, notices=("The sound was copied.",))


@pytest.fixture(scope="module")
def base() -> Snapshot:
    return Snapshot(program_schema(load_application()), {}, {}).with_values({"execution_queue_count": 4})


@pytest.fixture
def files(tmp_path: Path) -> JobFiles:
    return JobFiles((tmp_path / "source.jpg",), tmp_path / "target.mp4", tmp_path, tmp_path / "joined.mp4")


def worked(base: Snapshot, files: JobFiles, *, alone: bool, divided: bool) -> tuple[Engine, Sequence[str]]:
    """What the engine was asked, and the notices of the report."""
    engine = Engine()
    engine.divided = divided
    renderer = EngineRenderer(engine, base.with_values({"temp_path": files.segments}), "b7")  # type: ignore[arg-type]
    record = job(step={}, alone=alone)
    events, stop = Fanout(()), StopToken()
    assert renderer.together == 4
    plan = renderer.plan(record, files, events, stop)
    manifest = renderer.render(record, files, plan.document, 0, "7", events, stop)
    if not divided:
        (files.segments / str(manifest["file"])).write_bytes(b"video")
    report = renderer.join(record, files, plan.document, [manifest], events, stop)
    return engine, list(report["notices"])  # type: ignore[call-overload]


def test_how_many_frames_at_a_time_is_the_workers(base, files):
    engine, notices = worked(base, files, alone=False, divided=True)
    assert engine.asked == [("plan", 4), ("render 0", 4), ("join", 4)]
    assert notices == ["The sound was copied."]


@pytest.mark.parametrize(
    ("divided", "asked"), [(True, [("plan", 1), ("render 0", 1), ("join", 1)]), (False, [("plan", 1), ("execute", 1)])]
)
def test_a_job_that_has_them_one_at_a_time_says_so_in_its_report(base, files, divided, asked):
    engine, notices = worked(base, files, alone=True, divided=divided)
    assert engine.asked == asked
    assert notices == ["The sound was copied.", TOLD]


@pytest.mark.parametrize("divided", [True, False])
def test_a_result_that_cannot_be_signed_is_not_left_on_the_storage(base, files, monkeypatch, divided):
    kept = files.segments / "joined.mp4.unsigned.part"
    kept.write_bytes(b"hours of work")

    def gone(*_):
        raise SigningError("the card is gone", f"It is kept as {kept}.", kept=kept)

    monkeypatch.setattr(Engine, "join" if divided else "execute", gone)
    with pytest.raises(SigningError) as raised:
        worked(base, files, alone=False, divided=divided)
    assert not kept.exists()
    fault = fault_of(raised.value, files, "worker")
    assert (fault.fault, fault.remedy) == (
        "the card is gone", "Whoever runs the service has to look after its signer."
    )  # fmt: skip
    assert raised.value.retry_may_help, "another machine may sign"
