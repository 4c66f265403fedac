"""What the command line needs of the program. :class:`facefusion.app.engine.Engine` is it; tests hand in another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from facefusion.config.state import Snapshot
from facefusion.core.activity import Activity
from facefusion.core.floor import Floor
from facefusion.core.report import RunReport
from facefusion.core.stop import StopToken
from facefusion.observability.events import EventSink

if TYPE_CHECKING:
    from facefusion.app.clean import Cleaned
    from facefusion.app.step_plan import StepPlan


class Application(Protocol):
    """The composition root as the commands see it."""

    def settings_groups(self) -> tuple[type, ...]:
        """Every settings group of the program but the command line's own."""

    def option_choices(self) -> Mapping[str, Callable[[], Sequence[str]]]:
        """Allowed values of options whose group cannot know them, such as ``processors``, by the option's name."""

    def awaited_choices(self) -> Mapping[str, Callable[[], Sequence[str]]]:
        """Values of such options that users know and this version cannot serve yet, by the option's name."""

    def execute(self, snapshot: Snapshot, events: EventSink, stop: StopToken) -> RunReport:
        """Run one step.

        Raises:
            FaceFusionError: it failed; no output was left behind.
            Stopped: ``stop`` was requested; no output was left behind.
        """

    def check_signer(self, snapshot: Snapshot, events: EventSink) -> None:
        """Make sure that results can be signed with these settings, unless none are to be.

        Raises:
            FaceFusionError: they cannot.
        """

    def breed(self, snapshot: Snapshot, events: EventSink) -> str:
        """A word for all machines and programs whose segments may be joined, where they work on the same step.

        Raises:
            FaceFusionError: none of the execution providers asked for works.
        """

    def plan(self, snapshot: Snapshot, events: EventSink, stop: StopToken) -> StepPlan:
        """Divide a step into segments that several machines can render.

        Raises:
            FaceFusionError: the step cannot be worked on, or the content filter refused its target.
            Stopped: ``stop`` was requested.
        """

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
        """Make one segment of a step that was divided, and put it into a folder; its record, for :meth:`join`.

        Raises:
            FaceFusionError: it failed; nothing was left behind.
            Stopped: ``stop`` was requested; likewise.
        """

    def join(
        self,
        snapshot: Snapshot,
        plan: StepPlan,
        folder: Path,
        records: Sequence[Mapping[str, object]],
        events: EventSink,
        stop: StopToken,
    ) -> RunReport:
        """Make the result of all segments.

        Raises:
            FaceFusionError: it failed; no output was left behind.
            Stopped: ``stop`` was requested; likewise.
        """

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

    def calibrate(self, snapshot: Snapshot, events: EventSink, stop: StopToken) -> None:
        """Measure once how the models of a step make best use of the processor's cores.

        Raises:
            FaceFusionError: a model is unknown.
            Stopped: ``stop`` was requested.
        """

    def fetch_models(
        self, snapshot: Snapshot, events: EventSink, stop: StopToken, names: Sequence[str] | None
    ) -> list[str]:
        """Fetch and verify models, all embedded ones where no names are given, and return the names fetched.

        Raises:
            FaceFusionError: one cannot be fetched.
            Stopped: ``stop`` was requested; the models fetched before are in place.
        """

    def clean(self, snapshot: Snapshot) -> Cleaned:
        """Remove temporary files that nobody needs any more.

        Raises:
            FaceFusionError: something cannot be removed.
        """

    def activity(self) -> Activity:
        """What models are doing. Any thread may ask."""

    def video_shortage(self, snapshot: Snapshot) -> str:
        """What is missing of a device's memory for any work at all, in a sentence; empty where nothing is."""

    def missing_models(self, snapshot: Snapshot) -> list[str]:
        """Names of the models that a step with these settings would have to fetch first."""

    def release_models(self) -> None:
        """Unload every model and forget what was kept from one step to the next."""


def load_application() -> Application:
    """The real program. Its heavy parts come in when they are used."""
    from facefusion.app.engine import Engine  # noqa: PLC0415 - help and version do not wait for it

    return Engine()
