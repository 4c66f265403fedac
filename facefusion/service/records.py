"""What the service keeps of assets and jobs.

Faces are personal data: nothing here holds a picture, a file name or a path. Assets go by their ids and are told apart
by their SHA-256. Times are seconds since 1970 in UTC, as all machines of a fleet understand them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class Priority(Enum):
    """Which of the waiting jobs come first."""

    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"


class JobState(Enum):
    """Where a job stands."""

    QUEUED = "queued"
    RUNNING = "running"
    """A worker plans it or renders one of its segments, or all are there and are joined."""
    COMPLETED = "completed"
    FAILED = "failed"
    REJECTED = "rejected"
    """The content filter refused it."""
    CANCELLED = "cancelled"
    PARKED = "parked"
    """It took several workers down with it, and waits for somebody to look at it."""

    @property
    def is_final(self) -> bool:
        """Whether nothing more will happen to the job."""
        return self not in (JobState.QUEUED, JobState.RUNNING)


@dataclass(frozen=True, slots=True)
class Asset:
    """An uploaded file."""

    id: str
    owner: str
    """The subject that uploaded it."""
    sha256: str
    size: int
    """Bytes."""
    media_type: str
    """As its content shows, such as ``video/mp4``; never as the client says."""
    extension: str
    """That files of this type have, with its dot."""
    created: float
    expires: float
    """When it may be erased; later where a job that is not final uses it."""
    width: int | None = None
    """Of the picture as it is shown, in pixels; none of sound."""
    height: int | None = None
    frames: int | None = None
    """As many as the file promises, 1 of a still image; none where it does not say."""
    duration: float | None = None
    """Of the picture, in seconds; none of a still image, and where the file does not say."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a job ended other than completed: the texts of the error that the command line shows."""

    fault: str
    remedy: str
    kind: str
    """Name of the error's class, such as ``ContentRefusedError``."""


@dataclass(frozen=True, slots=True)
class Result:
    """The file that a job made."""

    sha256: str
    size: int
    media_type: str
    extension: str
    expires: float


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a job is."""

    done: int = 0
    """Frames."""
    total: int | None = None
    """None where that is not known yet."""
    rate: float = 0.0
    """Frames per second, of all workers."""
    segments_done: int = 0
    segments: int | None = None

    @property
    def seconds_left(self) -> float | None:
        """At this rate; none where that cannot be said."""
        if self.total is None or self.rate <= 0:
            return None
        return max(self.total - self.done, 0) / self.rate


@dataclass(frozen=True, slots=True)
class JobRecord:
    """A job as the service keeps it: one step, as a job file holds it, whose paths are ids of assets."""

    id: str
    owner: str
    state: JobState
    priority: Priority
    step: Mapping[str, object]
    """Values of JSON by the options' names, without any path."""
    sources: tuple[str, ...]
    """Ids of assets."""
    target: str
    """Id of an asset."""
    extension: str
    """Of the result, with its dot."""
    created: float
    started: float | None = None
    ended: float | None = None
    progress: Progress = field(default_factory=Progress)
    result: Result | None = None
    fault: Fault | None = None
    report: Mapping[str, object] | None = None
    """Of the run, fit for JSON, without paths."""
    callback: str | None = None
    """Address to call when the job is at its end."""
    retries: int = 0
    """Segments that were begun again since their worker was lost or failed."""
    alone: bool = False
    """Whether frames are worked on one at a time, since the memory of a device did not suffice for several."""

    @property
    def assets(self) -> tuple[str, ...]:
        """Ids of all assets that the job uses."""
        return (*self.sources, self.target)


@dataclass(frozen=True, slots=True)
class JobEvent:
    """A change of a job, as those who watch it are told."""

    id: str
    """Grows from event to event; whoever lost the connection goes on after the last one seen."""
    state: JobState
    progress: Progress
