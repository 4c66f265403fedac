"""Several occluders as one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from facefusion.core.values import Mask
from facefusion.faces.mask.base import FaceCrop, FaceOccluder


class ManyOccluders:
    """What every one of several occluders takes for the face."""

    def __init__(self, occluders: Sequence[FaceOccluder]) -> None:
        self._occluders = tuple(occluders)

    def uncovered(self, crops: Sequence[FaceCrop]) -> list[Mask]:
        """See :class:`~facefusion.faces.mask.base.FaceOccluder`."""
        seen = [occluder.uncovered(crops) for occluder in self._occluders]
        return [np.minimum.reduce(masks) for masks in zip(*seen, strict=True)]
