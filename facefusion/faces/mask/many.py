"""Several occluders as one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from facefusion.core.values import Mask, Pixels
from facefusion.faces.mask.base import FaceOccluder


class ManyOccluders:
    """What every one of several occluders takes for the face."""

    def __init__(self, occluders: Sequence[FaceOccluder]) -> None:
        self._occluders = tuple(occluders)

    def uncovered(self, crop: Pixels) -> Mask:
        """See :class:`~facefusion.faces.mask.base.FaceOccluder`."""
        least = self._occluders[0].uncovered(crop)
        for occluder in self._occluders[1:]:
            least = np.minimum(least, occluder.uncovered(crop))
        return least
