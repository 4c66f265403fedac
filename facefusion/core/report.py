"""What a finished run says about itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class RunReport:
    """The outcome of one step: one image or one video."""

    output: str
    """Path of the verified result."""
    frames: int
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
    """Busy seconds per stage (decode, analyse, each processor, encode), summed over threads."""
    notices: tuple[str, ...] = ()
    """Choices made for the user, fallbacks and warnings."""

    @property
    def frames_per_second(self) -> float:
        """Frames over the seconds they took; 0 where no time passed."""
        return self.frames / self.seconds if self.seconds > 0 else 0.0
