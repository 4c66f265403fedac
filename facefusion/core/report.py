"""What a finished run says about itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


class NotKept(str):
    """A notice that names something of the source which the result does not have.

    It is a sentence like any other, and travels among others; the report lists such sentences by themselves.
    """

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class ThreadPlan:
    """How the work of a run was divided among threads."""

    workers: int
    """Threads that work on frames."""
    window: int
    """Most groups of frames alive at once, those being decoded and encoded among them."""
    together: int
    """Frames of a group, which are worked on together."""
    decoder_threads: int
    graph_threads: Mapping[str, int] = field(default_factory=dict)
    """Processor threads of one run, for each model with a graph."""
    gates: Mapping[str, int | None] = field(default_factory=dict)
    """How many graphs may run at once, for each provider and number of a device, such as ``cuda:0``; none for any."""


@dataclass(frozen=True, slots=True)
class ContentReport:
    """What the content filter saw of a target."""

    looked_at: int
    """Pictures."""
    counted: int
    """Those of them that most likely show sexual content."""
    times: tuple[float, ...]
    """When the first of those are shown, in seconds from the target's beginning."""
    scores: Mapping[str, float]
    """The highest score that each network gave, by its name; none of a network that was not asked."""
    limits: Mapping[str, float]
    """The score above which each network counts a picture, on a scale of its own."""
    imported: tuple[str, ...] = ()
    """Those networks that are not of the catalogue, but were brought in by a user of the machine."""


@dataclass(frozen=True, slots=True)
class MarkingReport:
    """What a result says of how it was made."""

    mode: str
    """How much was asked for: ``full``, ``metadata`` or ``off``."""
    source_type: str | None
    """Of the IPTC's vocabulary, as its address; none where nothing is said."""
    in_file: bool
    """Whether the file itself says it, in its metadata."""
    signed_by: str | None
    """Who signed its manifest; none where it has none."""
    side_car: str | None
    """Name of the file beside it that its manifest lies in; none where it is in the file."""
    of_target: tuple[str, ...] = ()
    """What the target says of itself, in its own words and in those of its manifests."""
    target_manifest: str | None = None
    """What is to be thought of the target's manifest, or that it lies elsewhere; none where it has none."""


@dataclass(frozen=True, slots=True)
class RunReport:
    """The outcome of one step: one image or one video."""

    output: str
    """Path of the verified result."""
    frames: int
    """Frames worked on, those of an earlier run among them."""
    faces: int
    """Faces worked on, summed over frames."""
    frames_without_face: int
    """Frames in which no chosen face was found, so nothing was changed by the face processors."""
    held_frames: tuple[int, ...]
    """Indices of frames passed through unchanged since working on them failed."""
    seconds: float
    """From the first frame decoded to the result in place."""
    start_up_seconds: float
    """From the call to the first frame: fetching, loading and preparing."""
    peak_memory: int
    """Highest resident memory of the process tree, in bytes."""
    models: Mapping[str, str] = field(default_factory=dict)
    """Each model used and the execution provider it really ran on (``code`` for a model without a graph)."""
    stages: Mapping[str, float] = field(default_factory=dict)
    """Seconds per stage, summed over threads: busy ones (decode, analyse, each processor, encode), and those in which
    threads waited (:data:`facefusion.observability.stages.WAITS`)."""
    processor_seconds: Mapping[str, float] = field(default_factory=dict)
    """What each stage took of the processor, as far as its own threads used it."""
    notices: tuple[str, ...] = ()
    """Choices made for the user, fallbacks and warnings."""
    model_hashes: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of each model's file, as hexadecimal digits."""
    faces_found: int | None = None
    """Faces found, chosen or not, summed over frames; none where nobody looked."""
    dropped_frames: int = 0
    """Frames of the target that the result does not show, since it has fewer a second."""
    repeated_frames: int = 0
    """Frames that the result shows once more than the target, since it has more a second."""
    damaged_frames: int = 0
    """Frames of the target that are damaged, and were patched up."""
    lost_frames: int = 0
    """Frames of the target that could not be decoded; the ones before them are shown longer."""
    resumed_frames: int = 0
    """Frames that an earlier run had finished; ``seconds`` does not count them."""
    threads: ThreadPlan | None = None
    """None where no plan was made."""
    peak_video_memory: int | None = None
    """Highest video memory in use on the cards of the run, in bytes: by this process where the driver tells processes
    apart, else by all. None where graphs run on the processor, or the device does not tell."""

    marking: MarkingReport | None = None
    """None where nobody asked, as in a stand-in for tests."""
    content: ContentReport | None = None
    """None where no content filter ran, as in a stand-in for tests."""

    @property
    def frames_read(self) -> int:
        """Frames of the target, or of the part of it that was asked for."""
        return self.frames + self.dropped_frames

    @property
    def frames_written(self) -> int:
        """Frames of the result."""
        return self.frames + self.repeated_frames

    @property
    def frames_per_second(self) -> float:
        """Frames over the seconds they took; 0 where no time passed."""
        return (self.frames - self.resumed_frames) / self.seconds if self.seconds > 0 else 0.0

    @property
    def not_kept(self) -> tuple[str, ...]:
        """What the result lacks of the source."""
        return tuple(notice for notice in self.notices if isinstance(notice, NotKept))
