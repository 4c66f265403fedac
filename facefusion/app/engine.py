"""The program as its commands see it.

Importing this costs little: OpenCV, ONNX Runtime and FFmpeg come in with the first step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from facefusion.app.step_plan import StepPlan
from facefusion.catalogue.catalogue import Catalogue
from facefusion.catalogue.settings import DownloadSettings
from facefusion.config.settings import GENERAL_GROUPS
from facefusion.config.state import Snapshot
from facefusion.content.settings import ContentAnalyserSettings
from facefusion.core.activity import Activity
from facefusion.core.floor import Floor
from facefusion.core.report import RunReport
from facefusion.core.stop import StopToken
from facefusion.faces.settings import FACE_GROUPS
from facefusion.inference.settings import ExecutionSettings, InferenceSettings
from facefusion.media.settings import DecodingSettings, OutputSettings, TrimSettings, WorkflowSettings
from facefusion.memory.release import give_back, keep_little, refuse_huge_pages
from facefusion.memory.settings import MemorySettings
from facefusion.observability.events import EventSink
from facefusion.processors.registry import awaited_processors, processor_names, processor_settings
from facefusion.provenance.label_settings import LabelSettings
from facefusion.provenance.settings import MarkingSettings
from facefusion.provenance.signing.settings import SigningSettings
from facefusion.provenance.watermark_settings import WatermarkSettings

if TYPE_CHECKING:
    from facefusion.app.clean import Cleaned
    from facefusion.app.sessions import Sessions


class Engine:
    """Runs steps and keeps loaded models from one to the next. One step at a time."""

    def __init__(self) -> None:
        keep_little()
        refuse_huge_pages()
        self._sessions: Sessions | None = None

    def settings_groups(self) -> tuple[type, ...]:
        """Every settings group of the program but those of single commands."""
        return (
            *GENERAL_GROUPS,
            *FACE_GROUPS,
            ContentAnalyserSettings,
            OutputSettings,
            TrimSettings,
            DecodingSettings,
            WorkflowSettings,
            MarkingSettings,
            LabelSettings,
            WatermarkSettings,
            SigningSettings,
            *processor_settings(),
            DownloadSettings,
            ExecutionSettings,
            InferenceSettings,
            MemorySettings,
        )

    def option_choices(self) -> Mapping[str, Callable[[], Sequence[str]]]:
        """Allowed values that no settings group can know."""
        return {"processors": processor_names}

    def awaited_choices(self) -> Mapping[str, Callable[[], Sequence[str]]]:
        """Values of such options that users know and this version cannot serve yet."""
        return {"processors": awaited_processors}

    def execute(self, snapshot: Snapshot, events: EventSink, stop: StopToken) -> RunReport:
        """Run one step.

        Raises:
            FaceFusionError: it failed; no output was left behind.
            Stopped: ``stop`` was requested; no output was left behind.
        """
        from facefusion.app.step import run_step  # noqa: PLC0415 - see the module's docstring

        return run_step(snapshot, self._open_sessions(), events, stop)

    def check_signer(self, snapshot: Snapshot, events: EventSink) -> None:
        """Make sure that results can be signed with these settings, unless none are to be. A step does so by itself.

        Raises:
            SetupError: they cannot.
        """
        from facefusion.app.marking import check_signer  # noqa: PLC0415 - see the module's docstring

        check_signer(snapshot, events)

    def breed(self, snapshot: Snapshot, events: EventSink) -> str:
        """A word for all machines and programs whose segments may be joined, where they work on the same step.

        It stands for program, libraries, execution provider, device, processor and frames at a time: the part of a
        plan's fingerprint that is known before there is a step. No model is loaded.

        Returns:
            Hexadecimal digits.

        Raises:
            ProviderError: none of the execution providers asked for works.
        """
        from facefusion.app.fingerprint import breed_of  # noqa: PLC0415 - see the module's docstring
        from facefusion.app.narrowing import together_of  # noqa: PLC0415 - as above

        execution, _ = self._open_sessions().open(snapshot, events)
        return breed_of(execution, together_of(snapshot))

    def plan(self, snapshot: Snapshot, events: EventSink, stop: StopToken) -> StepPlan:
        """Divide a step into segments that several machines can render, each by itself and in any order.

        A video is decoded once for that, and shown to the content filter. A step that is not divided (an image, a video
        of one segment, one whose frames are to be written as files) is for :meth:`execute`.

        Raises:
            ContentRefusedError: the content filter refused the target.
            FaceFusionError: the step cannot be worked on.
            Stopped: ``stop`` was requested.
        """
        from facefusion.app.division import plan_step  # noqa: PLC0415 - see the module's docstring

        return plan_step(snapshot, self._open_sessions(), events, stop)

    def render(
        self,
        snapshot: Snapshot,
        plan: StepPlan,
        number: int,
        folder: Path,
        token: str,
        events: EventSink,
        stop: StopToken,
    ) -> Mapping[str, object]:
        """Make one segment of a step that was divided, the same whoever makes the others.

        Args:
            snapshot: the settings of the step; paths may be others than where it was planned, for the same content.
            plan: from :meth:`plan`.
            number: of the segment, from 0.
            folder: that the machines share; ``segment-<number>-<token>.mkv`` and ``.json`` are written there.
            token: of this attempt, 1 to 64 letters and digits. Two attempts with different ones do not meet.
            events: told of progress.
            stop: asked between frames.

        Returns:
            The record of the segment, fit for JSON, as it lies beside the file: for :meth:`join`. Its ``file`` has the
            size and the SHA-256, or is none where the result shows no frame of the segment.

        Raises:
            OtherMachineError: the plan is of another program, or of another kind of machine.
            FaceFusionError: the segment cannot be made; nothing was left behind.
            Stopped: ``stop`` was requested; likewise.
        """
        from facefusion.app.division import render_segment  # noqa: PLC0415 - see the module's docstring

        return render_segment(snapshot, self._open_sessions(), plan, number, folder, token, events, stop)

    def join(
        self,
        snapshot: Snapshot,
        plan: StepPlan,
        folder: Path,
        records: Sequence[Mapping[str, object]],
        events: EventSink,
        stop: StopToken,
    ) -> RunReport:
        """Make the result of all segments: the same file that :meth:`execute` makes.

        The folder stays as it is. In the report, seconds are summed over all machines.

        Args:
            snapshot: the settings of the step.
            plan: from :meth:`plan`.
            folder: where the segments lie.
            records: from :meth:`render`, of all segments, in order.
            events: told of progress.
            stop: asked now and then.

        Raises:
            SegmentError: a segment is missing, damaged or of another plan; ``number`` says which.
            OtherMachineError: the plan is of another program, or of another kind of machine.
            FaceFusionError: there is no result; no output was left behind.
            Stopped: ``stop`` was requested; likewise.
        """
        from facefusion.app.division import join_step  # noqa: PLC0415 - see the module's docstring

        return join_step(snapshot, self._open_sessions(), plan, folder, records, events, stop)

    def floor(self, snapshot: Snapshot, report: RunReport, folder: Path, stop: StopToken) -> Floor:
        """Measure what the networks, kernels and codecs of the step that ran last take by themselves.

        Args:
            snapshot: the step's settings.
            report: of the step.
            folder: to write to.
            stop: ends it.

        Raises:
            FaceFusionError: they cannot be run by themselves.
            Stopped: ``stop`` was requested.
        """
        from facefusion.app.floor import measure_floor  # noqa: PLC0415 - see the module's docstring

        return measure_floor(snapshot, self._open_sessions(), report, folder, stop)

    def calibrate(self, snapshot: Snapshot, events: EventSink, stop: StopToken) -> None:
        """Measure once how the models of a step make best use of the processor's cores.

        Raises:
            ModelError: a model is unknown.
            Stopped: ``stop`` was requested.
        """
        from facefusion.app.calibration import calibrate  # noqa: PLC0415 - see the module's docstring

        calibrate(snapshot, events, stop)

    def fetch_models(
        self, snapshot: Snapshot, events: EventSink, stop: StopToken, names: Sequence[str] | None
    ) -> list[str]:
        """Fetch and verify models, those of the scope that is set where no names are given, and return their names.

        Raises:
            ModelError: a name is unknown, or a model cannot be fetched.
            Stopped: ``stop`` was requested.
        """
        from facefusion.app.models import fetch_models, models_meant, open_store  # noqa: PLC0415 - as above

        cards = models_meant(Catalogue.load(), names or (), snapshot.get(DownloadSettings).download_scope)
        fetch_models(open_store(snapshot, events, stop), cards, events)
        return list(dict.fromkeys(card.name for card in cards))

    def clean(self, snapshot: Snapshot) -> Cleaned:
        """Remove temporary files that nobody needs any more.

        Raises:
            FaceFusionError: something cannot be removed.
        """
        from facefusion.app.clean import clean  # noqa: PLC0415 - see the module's docstring

        return clean(snapshot)

    def activity(self) -> Activity:
        """What models are doing. Any thread may ask, whatever another one is at."""
        sessions = self._sessions
        return Activity() if sessions is None else sessions.activity

    def video_shortage(self, snapshot: Snapshot) -> str:
        """What is missing of a device's memory for any work with these settings, in a sentence; empty where nothing is.

        Where models are loaded nothing is: a step says how much more it needs.
        """
        return "" if self._sessions is None else self._sessions.video_shortage(snapshot)

    def missing_models(self, snapshot: Snapshot) -> list[str]:
        """Names of the models that a step with these settings would have to fetch first. Nothing is fetched.

        Raises:
            ModelError: a name that is set is no model's.
        """
        from facefusion.app.step_models import missing_models  # noqa: PLC0415 - see the module's docstring

        return missing_models(snapshot)

    def release_models(self) -> None:
        """Unload every model and forget what was kept from one step to the next."""
        if self._sessions is not None:
            self._sessions.close()
            self._sessions = None
            give_back()

    def _open_sessions(self) -> Sessions:
        if self._sessions is None:
            from facefusion.app.sessions import Sessions  # noqa: PLC0415 - see the module's docstring

            self._sessions = Sessions()
        return self._sessions
