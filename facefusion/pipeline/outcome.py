"""What came out of a run, counted frame by frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self, cast

from facefusion.core.errors import OutputError
from facefusion.media.damage import Damage
from facefusion.pipeline.frames import FrameResult

NUMBERS = ("frames", "faces", "faces_found", "frames_without_face", "dropped_frames", "repeated_frames")


@dataclass(slots=True)
class Outcome:
    """Counts of the frames that were finished."""

    frames: int = 0
    faces: int = 0
    """Worked on, summed over frames."""
    faces_found: int = 0
    frames_without_face: int = 0
    dropped_frames: int = 0
    """Not shown, since the result has fewer frames a second than the target."""
    repeated_frames: int = 0
    """Shown again, since the result has more."""
    held_frames: list[int] = field(default_factory=list)

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> Self:
        """What :meth:`to_json` gave.

        Raises:
            KeyError, TypeError: it is something else.
        """
        numbers = {name: cast("int", data[name]) for name in NUMBERS}
        return cls(**numbers, held_frames=list(cast("Sequence[int]", data["held_frames"])))

    def to_json(self) -> Mapping[str, object]:
        """Everything, fit for JSON."""
        return asdict(self)

    @property
    def frames_read(self) -> int:
        """Frames of the target."""
        return self.frames + self.dropped_frames

    def add(self, other: Outcome) -> None:
        """Count what another stretch of the same target came to."""
        for name in NUMBERS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.held_frames += other.held_frames

    def count(self, result: FrameResult) -> None:
        """Count one finished frame."""
        self.frames += 1
        self.faces += result.faces
        self.faces_found += result.found
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


@dataclass(frozen=True, slots=True)
class Processed:
    """What came of a target, and what the user should know."""

    outcome: Outcome
    damage: Damage = field(default_factory=Damage)
    """Of the target."""
    resumed: int = 0
    """Frames that an earlier run had finished."""
    notices: tuple[str, ...] = ()
