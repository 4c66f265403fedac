"""What the networks behind masks are, and which masks a processor takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from facefusion.core.values import Affine, Face, Mask, Picture, Pixels, Size

BOX = "box"
OCCLUSION = "occlusion"
AREA = "area"
REGION = "region"
"""The types of masks, as users name them."""


@dataclass(frozen=True, slots=True)
class FaceCrop:
    """A face, cut out of a picture."""

    pixels: Pixels
    """Aligned, any size."""
    face: Face
    """In the picture."""
    frame_to_crop: Affine
    picture: Picture
    """What it was cut out of, for those who look beyond the crop; nothing has been pasted over the face since."""

    @property
    def size(self) -> Size:
        """Of the crop."""
        height, width = self.pixels.shape[:2]
        return Size(width, height)

    def showing(self, pixels: Pixels) -> FaceCrop:
        """The same place with other pixels in it."""
        return replace(self, pixels=pixels)


class FaceOccluder(Protocol):
    """Finds what covers a face. Thread-safe."""

    def uncovered(self, crops: Sequence[FaceCrop]) -> list[Mask]:
        """How much of the face each pixel of the crops shows: 0 something else .. 1 the face.

        Args:
            crops: as they are in the picture; they go through a graph together where it allows.
        """


class FaceParser(Protocol):
    """Tells the regions of a face apart. Thread-safe."""

    lacks: frozenset[str]
    """Regions that it never finds."""

    def regions(self, crops: Sequence[FaceCrop], names: frozenset[str]) -> list[Mask]:
        """1 where the crops show one of the named regions, 0 elsewhere.

        Args:
            crops: as they are now; a face put into one may be another than the picture's.
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
    blur: float | None = None
    """How soft its box is; what the user chose where none."""

    def types(self, wanted: tuple[str, ...]) -> frozenset[str]:
        """The types that count where the user chose ``wanted``."""
        return self.always | (self.chosen & frozenset(wanted))


NO_MASKS = MaskUse()
"""Of a processor that changes no face, or bounds what it changes by itself."""
SWAP_MASKS = MaskUse(chosen=frozenset((BOX, OCCLUSION, AREA, REGION)), padded=True)
"""Of a processor that puts another face in the place of one: what the user chose."""
OWN_FACE_MASKS = MaskUse(always=frozenset((BOX,)), chosen=frozenset((OCCLUSION, AREA, REGION)), padded=True)
"""Of a processor that puts in a face with an outline of its own, so that the box is no more than a soft border."""
OUTLINE_MASKS = replace(SWAP_MASKS, blur=0.0)
"""Of a processor that shows those of a swapper: without its soft edge, where the box begins to count."""
SEAM_MASKS = MaskUse(always=frozenset((BOX,)), chosen=frozenset((OCCLUSION,)))
"""Of a processor that keeps the face: a soft seam, and nothing of what covers the face."""
