"""What the networks behind masks are, and which masks a processor takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from facefusion.core.values import Mask, Pixels

BOX = "box"
OCCLUSION = "occlusion"
AREA = "area"
REGION = "region"
"""The types of masks, as users name them."""


class FaceOccluder(Protocol):
    """Finds what covers a face. Thread-safe."""

    def uncovered(self, crops: Sequence[Pixels]) -> list[Mask]:
        """How much of the face each pixel of aligned crops shows: 0 something else .. 1 the face.

        Args:
            crops: of any size; those of one frame go through the graph together where it allows.
        """


class FaceParser(Protocol):
    """Tells the regions of a face apart. Thread-safe."""

    def regions(self, crops: Sequence[Pixels], names: frozenset[str]) -> list[Mask]:
        """1 where aligned crops show one of the named regions, 0 elsewhere.

        Args:
            crops: as for an occluder.
            names: values of ``--face-mask-regions``.
        """


@dataclass(frozen=True, slots=True)
class MaskUse:
    """Which masks bound what a processor changes of a face."""

    always: frozenset[str] = frozenset()
    """Types that it takes whatever the user chose."""
    chosen: frozenset[str] = frozenset()
    """Types that it takes where the user chose them."""
    padded: bool = False
    """Whether the user's padding narrows its box."""
    areas: tuple[str, ...] | None = None
    """The only areas that it ever changes; those that the user chose where none."""

    def types(self, wanted: tuple[str, ...]) -> frozenset[str]:
        """The types that count where the user chose ``wanted``."""
        return self.always | (self.chosen & frozenset(wanted))


NO_MASKS = MaskUse()
"""Of a processor that changes no face, or bounds what it changes by itself."""
SWAP_MASKS = MaskUse(chosen=frozenset((BOX, OCCLUSION, AREA, REGION)), padded=True)
"""Of a processor that puts another face in the place of one: what the user chose."""
OWN_FACE_MASKS = MaskUse(always=frozenset((BOX,)), chosen=frozenset((OCCLUSION, AREA, REGION)), padded=True)
"""Of a processor that puts in a face with an outline of its own, so that the box is no more than a soft border."""
SEAM_MASKS = MaskUse(always=frozenset((BOX,)), chosen=frozenset((OCCLUSION,)))
"""Of a processor that keeps the face: a soft seam, and nothing of what covers the face."""
