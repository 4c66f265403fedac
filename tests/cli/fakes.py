"""A program that does nothing, told what to report."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from facefusion.app.clean import Cleaned
from facefusion.app.step_plan import StepPlan
from facefusion.cli.main import main
from facefusion.config.settings import GENERAL_GROUPS, PathsSettings
from facefusion.config.state import Snapshot
from facefusion.core.activity import Activity
from facefusion.core.floor import Floor
from facefusion.core.report import RunReport
from facefusion.core.stop import StopToken
from facefusion.faces.settings import FaceMaskerSettings, FaceSelectorSettings
from facefusion.observability.events import EventSink
from tests.config.groups import SampleDetector, SampleExecution

REPORT = RunReport(
    output="",
    frames=10,
    faces=12,
    frames_without_face=2,
    held_frames=(),
    seconds=0.5,
    start_up_seconds=1.25,
    peak_memory=300 * 2**20,
    peak_video_memory=700 * 2**20,
    models={"yunet": "cpu", "mesh": "code"},
    stages={"decode": 0.1, "encode": 0.3},
)


class FakeApplication:
    """Writes the output file and gives a report, or raises."""

    def __init__(self, report: RunReport = REPORT, failure: BaseException | None = None) -> None:
        self.report = report
        self.failure = failure
        self.snapshots: list[Snapshot] = []
        self.asked: list[Sequence[str] | None] = []
        self.measured: list[tuple[Snapshot, RunReport, Path]] = []
        self.calibrated: list[Snapshot] = []
        self.released = 0
        self.cleaned = Cleaned((), ())
        self.before_report: Callable[[EventSink, StopToken], None] = lambda events, stop: None

    def settings_groups(self) -> tuple[type, ...]:
        return (*GENERAL_GROUPS, SampleDetector, FaceSelectorSettings, FaceMaskerSettings, SampleExecution)

    def option_choices(self) -> Mapping[str, Callable[[], Sequence[str]]]:
        return {"processors": lambda: ("face_swapper", "face_enhancer")}

    def awaited_choices(self) -> Mapping[str, Callable[[], Sequence[str]]]:
        return {}

    def execute(self, snapshot: Snapshot, events: EventSink, stop: StopToken) -> RunReport:
        self.snapshots.append(snapshot)
        self.before_report(events, stop)
        if self.failure is not None:
            raise self.failure
        output = snapshot.get(PathsSettings).output_path
        assert output is not None
        Path(output).write_bytes(b"result")
        return dataclasses.replace(self.report, output=str(output))

    def check_signer(self, snapshot: Snapshot, events: EventSink) -> None:
        raise NotImplementedError

    def breed(self, snapshot: Snapshot, events: EventSink) -> str:
        raise NotImplementedError

    def plan(self, snapshot: Snapshot, events: EventSink, stop: StopToken) -> StepPlan:
        raise NotImplementedError

    def render(self, *words: object) -> Mapping[str, object]:
        raise NotImplementedError

    def join(self, *words: object) -> RunReport:
        raise NotImplementedError

    def floor(self, snapshot: Snapshot, report: RunReport, folder: Path, stop: StopToken) -> Floor:
        self.measured.append((snapshot, report, folder))
        return Floor(networks={"yunet": 0.25}, kernels=0.125, transcode=0.0)

    def calibrate(self, snapshot: Snapshot, events: EventSink, stop: StopToken) -> None:
        self.calibrated.append(snapshot)

    def fetch_models(
        self, snapshot: Snapshot, events: EventSink, stop: StopToken, names: Sequence[str] | None
    ) -> list[str]:
        self.asked.append(names)
        self.before_report(events, stop)
        return list(names or ("yunet", "mesh"))

    def clean(self, snapshot: Snapshot) -> Cleaned:
        self.snapshots.append(snapshot)
        if self.failure is not None:
            raise self.failure
        return self.cleaned

    def activity(self) -> Activity:
        return Activity()

    def video_shortage(self, snapshot: Snapshot) -> str:
        return ""

    def missing_models(self, snapshot: Snapshot) -> list[str]:
        return []

    def release_models(self) -> None:
        self.released += 1


def caller(capsys):
    """A function that runs a command line on a program of its own, and gives its status and both its streams."""

    def run(*words, application=None):
        code = main(words, application or FakeApplication())
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run
