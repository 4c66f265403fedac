"""The engine as workers use it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol, cast

from facefusion.app.narrowing import narrowed, one_at_a_time, together_of
from facefusion.app.step_plan import StepPlan
from facefusion.config.state import Snapshot
from facefusion.core.activity import Activity
from facefusion.core.errors import SegmentError, SigningError
from facefusion.core.report import RunReport
from facefusion.core.stop import StopToken
from facefusion.observability.events import EventSink
from facefusion.service.records import JobRecord
from facefusion.service.rendering import JobFiles, Plan
from facefusion.service.scratch import temporary_files_of
from facefusion.service.steps import step_snapshot

OF_A_MACHINE = ("output",)
"""Fields of a report that name a file."""


class Divider(Protocol):
    """What is needed of the engine. :class:`facefusion.app.engine.Engine` is it."""

    def execute(self, snapshot: Snapshot, events: EventSink, stop: StopToken) -> RunReport:
        """As the engine has it."""

    def plan(self, snapshot: Snapshot, events: EventSink, stop: StopToken) -> StepPlan:
        """As the engine has it."""

    def render(
        self, snapshot: Snapshot, plan: StepPlan, number: int, folder: Path, token: str, events: EventSink,
        stop: StopToken,
    ) -> Mapping[str, object]:  # fmt: skip
        """As the engine has it."""

    def join(
        self, snapshot: Snapshot, plan: StepPlan, folder: Path, records: Sequence[Mapping[str, object]],
        events: EventSink, stop: StopToken,
    ) -> RunReport:  # fmt: skip
        """As the engine has it."""

    def activity(self) -> Activity:
        """As the engine has it."""

    def video_shortage(self, snapshot: Snapshot) -> str:
        """As the engine has it."""

    def release_models(self) -> None:
        """As the engine has it."""


class EngineRenderer:
    """A :class:`~facefusion.service.rendering.Renderer` of the engine. What is not divided is one segment.

    Args:
        engine: the program; built once, so that its models stay loaded.
        base: how this machine does it.
        breed: the engine's word for this machine and program, with these settings.
    """

    def __init__(self, engine: Divider, base: Snapshot, breed: str) -> None:
        self._engine = engine
        self._base = base
        self._breed = breed

    @property
    def breed(self) -> str:
        """See the port."""
        return self._breed

    @property
    def together(self) -> int:
        """See the port."""
        return together_of(self._base)

    def plan(self, job: JobRecord, files: JobFiles, events: EventSink, stop: StopToken) -> Plan:
        """See the port."""
        plan = self._engine.plan(self._settings(job, files, files.output), events, stop)
        return Plan(plan.to_json(), plan.segments)

    def render(
        self,
        job: JobRecord,
        files: JobFiles,
        plan: Mapping[str, object],
        number: int,
        token: str,
        events: EventSink,
        stop: StopToken,
    ) -> Mapping[str, object]:
        """See the port."""
        step = StepPlan.from_json(plan)
        if step.is_divided:
            snapshot = self._settings(job, files, files.output)
            return self._engine.render(snapshot, step, number, files.segments, token, events, stop)
        whole = files.segments / f"whole-{token}{job.extension}"
        with temporary_files_of(self._settings(job, files, whole)) as snapshot, _nothing_unsigned():
            report = self._engine.execute(snapshot, events, stop)
        return {"file": whole.name, "report": document_of(report, files)}

    def join(
        self,
        job: JobRecord,
        files: JobFiles,
        plan: Mapping[str, object],
        manifests: Sequence[Mapping[str, object]],
        events: EventSink,
        stop: StopToken,
    ) -> Mapping[str, object]:
        """See the port."""
        step = StepPlan.from_json(plan)
        if step.is_divided:
            snapshot = self._settings(job, files, files.output)
            with _nothing_unsigned():
                report = self._engine.join(snapshot, step, files.segments, manifests, events, stop)
            return self._told(job, document_of(report, files))
        (manifest,) = manifests
        try:
            (files.segments / str(manifest["file"])).replace(files.output)
        except FileNotFoundError as error:
            raise SegmentError("the result is gone before it was delivered", "Make it again.", number=0) from error
        return self._told(job, cast("dict[str, Any]", manifest["report"]))

    def activity(self) -> Activity:
        """See the port."""
        return self._engine.activity()

    def video_shortage(self) -> str:
        """See the port."""
        return self._engine.video_shortage(self._base)

    def release(self) -> None:
        """See the port."""
        self._engine.release_models()

    def _settings(self, job: JobRecord, files: JobFiles, output: Path) -> Snapshot:
        base = one_at_a_time(self._base) if job.alone else self._base
        return step_snapshot(base, job.step, files.target, files.sources, output)

    def _told(self, job: JobRecord, document: dict[str, Any]) -> dict[str, Any]:
        """A report that says how the job was done otherwise than this worker does jobs."""
        if job.alone:
            document["notices"] = [*document["notices"], narrowed(self.together)]
        return document


@contextlib.contextmanager
def _nothing_unsigned() -> Iterator[None]:
    """Remove a result that is kept since it could not be signed: segments stay, and nobody could fetch it."""
    try:
        yield
    except SigningError as error:
        if error.kept is not None:
            error.kept.unlink(missing_ok=True)
        raise


def document_of(report: RunReport, files: JobFiles) -> dict[str, object]:
    """A report without the paths of this machine."""
    fields: dict[str, Any] = {name: value for name, value in asdict(report).items() if name not in OF_A_MACHINE}
    fields["notices"] = [files.without_paths(notice) for notice in report.notices]
    return fields
