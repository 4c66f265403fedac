"""What a family of swapping models offers to the processor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self

from facefusion.core.values import Face, Frame
from facefusion.processors.base import Scene, Source


class SwapperFamily(Protocol):
    """One kind of model with its sources prepared.

    :meth:`observe` is called in frame order, one frame at a time, and may keep state per track; :meth:`swap` is called
    from any thread and depends on its arguments only.
    """

    def prepare(self, sources: Sequence[Source]) -> None:
        """Learn who is put in: the people of the sources, each from one photo or several. Called once, before all else.

        A face gets the one whose number it carries as its ``source``.
        """

    def observe(self, frame: Frame, face: Face) -> object:
        """Look at one face of an untouched frame."""

    def swap(self, scenes: Sequence[Scene]) -> None:
        """Change the faces of each picture in place, in their order.

        The observation of a scene is a tuple: what :meth:`observe` gave for each of its faces.
        """

    def afresh(self) -> Self:
        """The same family with the same identity, and without tracks."""
