"""What came out of a run, counted frame by frame."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from facefusion.core.errors import OutputError
from facefusion.pipeline.frames import FrameResult


@dataclass(slots=True)
class Outcome:
    """Counts of the frames that were finished."""

    frames: int = 0
    faces: int = 0
    frames_without_face: int = 0
    held_frames: list[int] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)

    def count(self, result: FrameResult) -> None:
        """Count one finished frame."""
        self.frames += 1
        self.faces += result.faces
        if result.held:
            self.held_frames.append(result.frame.index)
        elif result.faces == 0:
            self.frames_without_face += 1

    def check(self, output: Path) -> None:
        """A result of which every frame was passed through as it was is no result.

        Raises:
            OutputError: not one frame could be worked on.
        """
        if self.frames and len(self.held_frames) == self.frames:
            raise OutputError(
                f"{output} was not written: working on every single frame failed",
                "Run again with --halt-on-error --log-level debug to see why.",
            )
