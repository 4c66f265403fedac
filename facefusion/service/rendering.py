"""What a worker asks of whoever makes the pictures. :mod:`.engine_rendering` is it; tests hand in another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from facefusion.core.activity import Activity
from facefusion.core.stop import StopToken
from facefusion.observability.events import EventSink
from facefusion.service.discretion import without_paths
from facefusion.service.records import JobRecord


@dataclass(frozen=True, slots=True)
class JobFiles:
    """Where the files of a job are for this machine."""

    sources: tuple[Path, ...]
    target: Path
    segments: Path
    """A folder that all workers of the job see."""
    output: Path
    """Where the joined result is to be written. The folder is there, the file is not."""
    private: tuple[Path, ...] = ()
    """Further folders of this machine that no client is told of."""

    def without_paths(self, text: str) -> str:
        """A text for the client, who is told nothing of this machine's folders."""
        names = {self.output: "the result", self.target: "the target", self.segments: "the segments"}
        names |= dict.fromkeys(self.sources, "a source")
        holding = (folder for path in names for folder in path.parents)
        return without_paths(text, names, (*self.private, *holding))


@dataclass(frozen=True, slots=True)
class Plan:
    """How a job is divided."""

    document: Mapping[str, object]
    """For the renderer alone; fit for JSON."""
    frames: tuple[int, ...]
    """Of each segment. At least one; an image has one segment of one frame."""


class Renderer(Protocol):
    """Plans, renders and joins. One call at a time.

    Raises:
        FaceFusionError: from any method, where it failed.
        Stopped: from any method, where ``stop`` was requested.
    """

    @property
    def breed(self) -> str:
        """Short word that is the same for workers whose segments may be joined, in letters and digits."""

    @property
    def together(self) -> int:
        """Frames that are worked on together, where the job has them not one at a time."""

    def plan(self, job: JobRecord, files: JobFiles, events: EventSink, stop: StopToken) -> Plan:
        """Divide a job."""

    def render(
        self, job: JobRecord, files: JobFiles, plan: Mapping[str, object], number: int, token: str, events: EventSink,
        stop: StopToken,
    ) -> Mapping[str, object]:  # fmt: skip
        """Make one segment.

        Args:
            job: what is asked for.
            files: of the job.
            plan: its document.
            number: of the segment.
            token: belongs into the names of all files that it writes, so that no two holders write the same one.
            events: told what happens; the units ``frame`` of :class:`StageProgress` are counted.
            stop: ends it.

        Returns:
            The segment's manifest, fit for JSON.
        """

    def join(
        self, job: JobRecord, files: JobFiles, plan: Mapping[str, object], manifests: Sequence[Mapping[str, object]],
        events: EventSink, stop: StopToken,
    ) -> Mapping[str, object]:  # fmt: skip
        """Join all segments into the output, and verify it; the report, fit for JSON and without paths."""

    def activity(self) -> Activity:
        """What models are doing. Any thread may ask while another call is going on."""

    def video_shortage(self) -> str:
        """What is missing of a device's memory for any work at all, in a sentence; empty where nothing is."""

    def release(self) -> None:
        """Unload what is kept from one call to the next, so that its memory is free."""
