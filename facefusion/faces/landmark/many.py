"""Several 68-point landmarkers as one: the surest is believed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
import numpy.typing as npt

from facefusion.catalogue.card import ModelCard
from facefusion.faces.landmark.base import Outline, OutlineReader

LEAD = 0.2
"""By how much a later one must be surer than an earlier one."""


class ManyOutlines:
    """The reading of the first, unless a later one is surer by the number ``lead`` of the entry."""

    def __init__(self, card: ModelCard, readers: Sequence[OutlineReader]) -> None:
        self._readers = tuple(readers)
        self._lead = card.number("lead", LEAD)

    def read(self, crops: Sequence[npt.NDArray[np.uint8]]) -> list[Outline]:
        """See :class:`~facefusion.faces.landmark.base.OutlineReader`."""
        readings = [reader.read(crops) for reader in self._readers]
        return [reduce(self._surer, of_one_face) for of_one_face in zip(*readings, strict=True)]

    def _surer(self, first: Outline, second: Outline) -> Outline:
        return first if first.confidence > second.confidence - self._lead else second
