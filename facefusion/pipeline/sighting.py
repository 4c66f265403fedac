"""What is seen of frames before anything is done to them, and what is remembered of it from frame to frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from facefusion.core.values import Face, Frame
from facefusion.processors.base import Processor


@dataclass(frozen=True, slots=True)
class Sighting:
    """The faces of one frame."""

    chosen: Sequence[Face] = ()
    """Those to work on."""
    found: int = 0
    """How many there are, chosen or not."""


class FaceFinder(Protocol):
    """Sees faces in untouched frames, in three steps, so that the costly one in the middle needs no order."""

    def find(self, frame: Frame) -> Sighting:
        """Look for faces and choose among them. In frame order, on one thread."""

    def read(self, frames: Sequence[Frame], faces: Sequence[Sequence[Face]]) -> Sequence[Sequence[Face]]:
        """Look closer at the chosen faces of some frames, all at once. In any order, on any thread; keeps nothing."""

    def steady(self, frame: Frame, faces: Sequence[Face]) -> Sequence[Face]:
        """Bring what was read in line with the frames before. In frame order, one frame at a time."""

    def afresh(self) -> FaceFinder:
        """The same finder, knowing nothing of any frame. What is costly is shared."""


class NoFaces:
    """A :class:`FaceFinder` that sees none, where nobody wants any."""

    def find(self, frame: Frame) -> Sighting:
        """Nothing."""
        return Sighting()

    def read(self, frames: Sequence[Frame], faces: Sequence[Sequence[Face]]) -> Sequence[Sequence[Face]]:
        """What was found."""
        return faces

    def steady(self, frame: Frame, faces: Sequence[Face]) -> Sequence[Face]:
        """What was read."""
        return faces

    def afresh(self) -> NoFaces:
        """Itself."""
        return self


class Strand:
    """What is remembered from frame to frame within one segment: tracks, and what processors keep of them.

    Args:
        finder: with a memory of its own.
        processors: with memories of their own.
    """

    def __init__(self, finder: FaceFinder, processors: Sequence[Processor]) -> None:
        self.finder = finder
        self.processors = processors


@dataclass(slots=True)
class Look:
    """What one strand makes of one frame; it fills as the frame goes on."""

    strand: Strand
    sighting: Sighting = Sighting()
    observations: Sequence[object] = ()
    """Of the strand's processors, in their order."""
    failure: Exception | None = None
    """Why the frame cannot be worked on, where looking at it failed."""
