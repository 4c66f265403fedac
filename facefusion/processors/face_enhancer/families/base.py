"""What a family of models that enhance faces offers to the processor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from facefusion.core.values import Mask
from facefusion.faces.mask.base import FaceCrop
from facefusion.processors.base import Scene

Seam: TypeAlias = Callable[[Sequence[FaceCrop]], Sequence[Mask]]
"""From the crops of faces as they are to the share of each of their pixels that may change."""


class EnhancerFamily(Protocol):
    """One kind of model. Thread-safe; nothing is kept from frame to frame."""

    @property
    def weighted(self) -> bool:
        """Whether the option ``face_enhancer_weight`` means anything to the model."""

    def enhance(self, scenes: Sequence[Scene]) -> None:
        """Make each face of each picture clearer, in place."""
